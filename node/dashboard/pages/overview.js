// The first page: is it helping me, and the rest in one line each.
import { chart, describe } from './chart.js';
import { list } from './activity.js';
import { card, code, empty, h, table } from './dom.js';
import { clock, count, finding, lacking, measured, others, plural, reading, share, verdict } from './words.js';

export function overview(data) {
  const { status } = data;
  const v = verdict(status);
  return [
    h('section', { class: `verdict ${v.mood}` },
      h('h1', {}, h('span', { class: 'question' }, 'Is it helping me?'), ' ', h('span', { class: 'answer' }, v.answer)),
      v.next ? next(v.next, status) : h('p', {}, reading(status.personal, others(status))),
      age(status.fit)),
    history(data),
    h('div', { class: 'tiles' }, spent(status), company(status), holdings(status)),
    h('section', { class: 'card' }, h('h2', {}, 'Lately'), list(data.events, 6),
      data.events.length > 6 ? h('p', {}, h('a', { href: '#activity' }, 'Everything that happened')) : null),
  ];
}

// next says what to do where there is no answer.
function next(what, status) {
  if (what === 'withheld') {
    return [h('p', {}, 'Other machines reach this address, and how well models do on your own records stays on the machine of the node. Ask there:'), h('pre', {}, code('p2pnode status')),
      h('p', {}, 'If the records are public or made up, ', code('experiment = true'), ' in config.toml has it told here, too.')];
  }
  if (what === 'silence') {
    return h('p', {}, `Nothing has come of ${others(status)} yet, so your model is the one that you would have alone. Its error (${status.personal.measure}) is ${measured(status.personal.alone, status.personal)}, on ${plural(status.personal.held_out, 'record')} of yours that nobody learns from.`);
  }
  if (what === 'member') {
    const waiting = status.sums.sums.filter((k) => k.missing?.length > 0);
    return [h('p', {}, 'It adds up what others know, and needs no records for that. Give it some if you have them too:'), h('pre', {}, code('p2pnode data import FILE.csv')),
      ...waiting.map((k) => h('p', {}, `A private sum (${k.recipe}, epoch ${k.epoch}, round ${k.round}) waits for ${lacking(k).join('; ')}.`)),
      h('p', {}, waiting.length > 0 || !status.sums.running ? '' : 'No private sum waits for another member. ', h('a', { href: '#sums' }, 'All private sums'))];
  }
  if (what === 'nothing') {
    return [h('p', {}, 'Give the node some records, as a file with a line for each:'), h('pre', {}, code('p2pnode data import FILE.csv')),
      h('p', {}, 'Every fifth record is held out from learning, and answers this question.')];
  }
  return h('p', {}, status.held_out ? `The first model is being fitted to your ${plural(status.records, 'record')}. This takes a moment.`
    : `Every fifth record is held out to measure on. You have ${plural(status.records, 'record')}; import some more.`);
}

function age(fit) {
  if (!fit || fit.current || fit.age_seconds < 60) return null;
  return h('p', { class: 'quiet' }, `Measured ${plural(Math.round(fit.age_seconds / 60), 'minute')} ago; a newer model is being fitted.`);
}

// history is the chart, once there is something to compare over time.
function history({ benefit, status }) {
  const who = others(status);
  if (benefit.length < 2) {
    return benefit.length === 0 && !status.personal ? null : card('Over time', empty('There is one measurement so far. The chart begins with the second: your node measures again once an hour, if it has heard something new.'));
  }
  const measure = benefit.at(-1).measure;
  const points = benefit.filter((p) => p.measure === measure);
  const bounds = (side) => points.map((p) => (p.gain ? p.alone - p.gain[side] : NaN));
  return card('Over time',
    chart({
      title: describe(points), unit: `error (${measure})`, times: points.map((p) => Date.parse(p.time)),
      band: points.some((p) => p.gain) ? { name: 'where it may be, 95 % certain', low: bounds('high'), high: bounds('low') } : null,
      lines: [{ name: 'alone', class: 'alone', values: points.map((p) => p.alone) }, { name: `with ${who}`, class: 'ours', values: points.map((p) => p.personal) }],
    }),
    h('p', { class: 'quiet' }, `Lower is better. As long as the shaded band holds the line “alone”, the difference may be chance. A guess without any model errs by ${measured(points.at(-1).base, points.at(-1))}.${status.personal?.by_log_loss ? ' The answer above is by log loss, which is not in this chart.' : ''}`),
    h('details', { id: 'history' }, h('summary', {}, 'The same as a table'),
      table('history-table', 'The newest measurements', ['time', [`with ${who}`, 'n'], ['alone', 'n'], 'what it shows', ['held out', 'n']],
        points.slice(-50).reverse().map((p) => [clock(p.time), measured(p.personal, p), measured(p.alone, p), finding(p.verdict, p.by_log_loss), count(p.held_out)]))));
}

function tile(name, href, title, ...children) {
  return h('a', { class: 'tile', href: `#${href}`, id: `tile-${href}` }, h('h2', {}, title), h('p', { class: 'figure' }, name), children);
}

function spent({ privacy, records }) {
  if (records === 0) return tile('Nothing', 'privacy', 'What have I spent?', h('p', {}, 'Each record brings a privacy budget of its own, for its whole life.'));
  if (privacy.unbounded) return tile('no guarantee', 'privacy', 'What have I spent?', h('p', {}, 'Models were sent without protection.'));
  if (privacy.records_missing > 0 && privacy.left > 0) {
    return tile(share(1), 'privacy', 'What have I spent?', meter(1), h('p', {}, `of the privacy budget of older records; new records wait for ${count(privacy.records_missing)} more`));
  }
  const left = privacy.sums_only ? 'in private sums' : `${plural(privacy.left, 'more model')} can be sent`;
  return tile(share(privacy.spent), 'privacy', 'What have I spent?', meter(privacy.spent), h('p', {}, `of your privacy budget; ${left}`));
}

export function meter(part, label = 'spent of the privacy budget') {
  return h('meter', { min: 0, max: 1, value: Math.min(1, part), 'aria-label': label }, share(part));
}

function company(s) {
  if (s.privacy.sums_only) return tile(count(s.connected), 'neighbours', 'Who is connected?', h('p', {}, `${s.connected === 1 ? 'peer' : 'peers'}; nobody sends models here, private sums bring what is learned`));
  const here = s.neighbours === 0 ? 'Nobody has been met yet.' : `${s.listening} listening now, models of ${s.heard} arrived`;
  return tile(count(s.neighbours), 'neighbours', 'Who are my neighbours?', h('p', {}, here), s.waits ? h('p', {}, `Nothing is sent: ${s.waits}`) : null);
}

function holdings(s) {
  if (s.records === 0) return tile('Nothing', 'data', 'What do I learn from?', h('p', {}, 'There are no records yet.'));
  return tile(count(s.records), 'data', 'What do I learn from?', h('p', {}, `of your records; ${count(s.held_out)} of them held out to measure`));
}
