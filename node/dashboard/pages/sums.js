// Private sums, and how far they have come.
import { card, empty, h, table } from './dom.js';
import { clock, count, lacking, lasting, plural, share, short } from './words.js';

const states = {
  waiting: 'waits for the committee', open: 'takes contributions', closed: 'is being added up', here: 'the result is here', dead: 'has failed: the committee erased its keys before the end',
};
const parts = {
  none: 'you added nothing', sent: 'your part is on its way', listed: 'you are in it', 'left out': 'you paid, and are not in it', lost: 'you paid; your part was lost',
};

export function sums({ sums: s }) {
  if (!s) return [h('h1', {}, 'Private sums'), empty('This task has none.')];
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'What do the private sums say?'), ' ', h('span', { class: 'answer' }, `${plural(s.known, 'result')} here`)),
      h('p', {}, `Your records are in ${count(s.listed)} of them. A committee adds up what everybody knows without seeing what anybody adds.`,
        s.only_fetches ? ' Your node only fetches results: a sum would cost more than its whole budget.' : '')),
    card('Each sum', s.sums?.length ? table('sums', 'By kind, epoch and round', ['kind', 'epoch', 'state', 'your part', ['people', 'n'], ['price', 'n'], 'closes'],
      s.sums.toReversed().map((k) => [k.recipe, `${k.epoch} of ${k.epochs}${k.rounds > 1 ? `, round ${k.round} of ${k.rounds}` : ''}`, state(k), part(k),
        k.state === 'here' ? count(k.people) : '–', share(k.price), k.closes ? clock(1000 * k.closes) : '–'])) : empty('None has begun.')),
    card('The committee', h('p', {}, `${s.committee.quorum} of ${s.committee.members.length} have to certify who is in a sum, and ${s.committee.colluding + 1} to sign its result. Nobody learns what you added unless ${s.committee.colluding + 1} of them work together.`),
      table('members', 'Its members', ['member', 'last answered'], (s.committee.members || []).map((m) => [short(m.peer) + (m.self ? ' (you)' : ''), answered(m)]))),
  ];
}

// silent says of a sum that was paid for that no member has told more of it, as after a restore.
const silent = (k) => k.state === 'waiting' && k.part !== 'none';

function part(k) {
  return silent(k) && k.part === 'sent' ? 'you paid' : parts[k.part] || k.part;
}

function state(k) {
  if (silent(k)) return 'opened, no news since';
  if (k.opens) return `opens after ${clock(1000 * k.opens)}`;
  const missing = k.missing?.length ? `; missing: ${lacking(k).join('; ')}` : '';
  if (k.state === 'here' && !k.people) return 'is over; nobody contributed';
  return (states[k.state] || k.state) + missing;
}

function answered(m) {
  if (m.self) return '–';
  if (m.failure) return `does not answer: ${m.failure}`;
  return m.answered ? `${lasting(1000 * m.answered)} ago` : 'not since the start';
}
