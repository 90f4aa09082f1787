// How values are said. No line ends between a number and its sign or unit.

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export const count = (n) => Number(n).toLocaleString('en');

// share writes a part of a whole: one that is small is not taken for none.
export function share(part) {
  const percent = 100 * part;
  if (percent === 0 || percent >= 99.95) return `${Math.round(percent)}\u00a0%`;
  if (percent < 0.1) return `${percent.toPrecision(1)}\u00a0%`;
  return `${percent < 10 ? percent.toFixed(1) : Math.min(99, Math.round(percent))}\u00a0%`;
}

// likely writes how probable something is: what is nearly certain is not taken for certain.
export function likely(part) {
  const rest = 1 - part;
  if (rest <= 0 || rest >= 0.01) return `${Math.round(100 * part)}\u00a0%`;
  return `${(100 * part).toFixed(Math.min(8, Math.floor(-Math.log10(rest)) - 1))}\u00a0%`;
}

// measured writes an error, or a log loss. An error of a comparison has as many decimals as its error alone has in p2pnode status.
export const measured = (v, comparison) => v.toFixed(decimals(comparison));

function decimals(comparison) {
  if (comparison?.measure !== 'RMSE' || !(comparison.alone > 0)) return 4;
  const power = Math.floor(Math.log10(comparison.alone));
  return Math.min(Math.max(4 - (power < 0 ? power + 1 : power), 0), 12);
}

function signed(v, comparison) {
  const digits = measured(Math.abs(v), comparison);
  if (Number(digits) === 0) return digits;
  return `${v > 0 ? '+' : '−'}${digits}`;
}

// change says by how much an error changes, with its interval, for a gain.
export const change = (gain, comparison) => `${signed(-gain.mean, comparison)} (95 % interval ${signed(-gain.high, comparison)} to ${signed(-gain.low, comparison)})`;

export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let k = 0;
  for (; n >= 1000 && k < units.length - 1; k++) n /= 1000;
  return `${k === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)}\u00a0${units[k]}`;
}

// isMember reports whether this node is a member of the committee.
const isMember = (sums) => Boolean(sums?.committee.members.some((m) => m.self));

// sumsWait reports whether private sums wait for this node, a member of the committee, while it is away.
export const sumsWait = (sums) => isMember(sums) && sums.sums.some((k) => k.state !== 'here' && k.state !== 'dead');

// lacking says which members a sum waits for, and why.
export const lacking = (k) => k.missing.map((m, i) => `${short(m)}${k.missing_why?.[i] ? `, which ${k.missing_why[i]}` : ''}`);

// lasting says how long it is since a moment.
export function lasting(moment) {
  const seconds = Math.max(0, (Date.now() - moment) / 1000);
  for (const [unit, length] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (seconds >= length) return plural(Math.floor(seconds / length), unit);
  }
  return 'a moment';
}

export function clock(moment) {
  const today = new Date().toDateString() === new Date(moment).toDateString();
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit' };
  return new Date(moment).toLocaleString('en-GB', today ? time : { day: 'numeric', month: 'short', ...time });
}

// short is the end of a peer ID, where they differ.
export const short = (peer) => `…${peer.slice(-6)}`;

// others names those from whom the personal model learns.
export function others(status) {
  if (!status.sums) return 'your neighbours';
  return status.privacy.sums_only ? 'private sums' : 'your neighbours and private sums';
}

// aboutOneIn says how rare something is, in two digits as p2pnode budget does.
export const aboutOneIn = (chance) => `about 1 of ${count(Number((1 / chance).toPrecision(2)))}`;

// told says whether a private sum has told the model anything: one that goes in rounds does after the last of them.
const told = (sums) => Boolean(sums?.known) && sums.sums.some((s) => ['here', 'dead'].includes(s.state) && (s.epoch > 1 || s.round === s.rounds));

// verdict answers whether it helps.
export function verdict(status) {
  const c = status.personal;
  if (!status.records && isMember(status.sums)) return { mood: 'none', answer: 'It is a member of the committee, and has no records', next: 'member' };
  if (!status.records) return { mood: 'none', answer: 'There is nothing to learn from yet', next: 'nothing' };
  if (status.withheld) return { mood: 'none', answer: 'That is not told here', next: 'withheld' };
  if (!c) return { mood: 'none', answer: status.held_out ? 'It is being measured for the first time' : 'There is nothing to measure on yet', next: 'measure' };
  if (c.personal === c.alone && status.heard === 0 && !told(status.sums)) return { mood: 'open', answer: 'Cannot tell yet', next: 'silence' };
  switch (c.verdict) {
    case 'better': return { mood: 'good', answer: 'Yes, it helps' };
    case 'worse': return { mood: 'bad', answer: 'No, you are better off alone' };
    default: return { mood: 'open', answer: alike(c) ? 'So far it changes nothing' : 'Cannot tell yet' };
  }
}

// alike says whether both models err alike, as far as an interval is written.
function alike(c) {
  const [gain, by] = c.by_log_loss ? [c.log_loss_gain] : [c.gain, c];
  return Boolean(gain) && [gain.low, gain.high].every((v) => Number(measured(v, by)) === 0);
}

// reading explains a comparison in a sentence or two.
export function reading(c, who) {
  if (c.by_log_loss) return byLogLoss(c, who);
  const on = `On ${plural(c.held_out, 'record')} of yours that nobody learns from, the error (${c.measure}) is ` +
    `${measured(c.personal, c)} with ${who} and ${measured(c.alone, c)} alone.`;
  if (!c.gain) return `${on} These are too few records to say how certain that is.`;
  if (alike(c)) return `${on} Both predict alike: so far ${who} change nothing.`;
  const why = sure[c.verdict] || 'The interval holds zero, so this may be chance. More records make it narrower.';
  return `${on} The error changes by ${change(c.gain, c)}. ${why}`;
}

const sure = {
  better: 'All of the interval is below zero, so that is hardly chance.',
  worse: 'All of the interval is above zero, so that is hardly chance.',
};

// byLogLoss explains a comparison of probabilities.
function byLogLoss(c, who) {
  return `On ${plural(c.held_out, 'record')} of yours that nobody learns from, a guess without any model errs no more than your model (${c.measure} ${measured(c.base)}): ` +
    'that says little, so the probabilities are compared. Their log loss, which is small where what happened was thought likely, is ' +
    `${measured(c.log_loss.personal)} with ${who} and ${measured(c.log_loss.alone)} alone. It changes by ${change(c.log_loss_gain)}. ${sure[c.verdict]}`;
}

// finding is a verdict in a word, and by what it is if not by the error.
export const finding = (verdict, byLogLoss) => (byLogLoss ? `${verdict}, by log loss` : verdict);
