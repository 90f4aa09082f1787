// What arrived, what was rejected, and what happened.
import { card, empty, facts, h } from './dom.js';
import { bytes, clock, count, plural, short } from './words.js';

const words = {
  gap: 'earlier', started: 'started', stopped: 'stopped', paused: 'paused', resumed: 'resumed', met: 'new neighbour', left: 'neighbour left', refused: 'refused',
  released: 'model sent', unpaid: 'not paid', imported: 'records', deleted: 'deleted', sum: 'private sum', result: 'private sum', rejected: 'rejected', fitted: 'measured',
  backup: 'backup', erased: 'erased', warning: 'warning', recovered: 'recovered',
};

export function activity({ status, events }) {
  const t = status.traffic;
  const turned = t.rejected + t.ignored;
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'What arrived, what was rejected?'), ' ',
        h('span', { class: 'answer' }, `${plural(t.delivered, 'model')} arrived, ${turned === 0 ? 'none was rejected' : `${count(turned)} rejected`}`)),
      h('p', {}, 'Everything that arrives is checked before it counts: its form, its sender and its age. Numbers are since the node started.')),
    card('Traffic', facts(
      ['models sent', count(t.published)],
      ['models arrived', count(t.delivered)],
      ['rejected', count(t.rejected), 'malformed'],
      ['ignored', count(t.ignored), 'stale, or from strangers'],
      t.sent_direct + t.received_direct > 0 && ['to one peer', `${count(t.sent_direct)} sent, ${count(t.received_direct)} received`],
      ['bytes', `${bytes(t.bytes_out)} out, ${bytes(t.bytes_in)} in`]), why(events)),
    card('What happened', list(events)),
  ];
}

// why counts the reasons of the rejections that are still known.
function why(events) {
  const reasons = new Map();
  for (const event of events) {
    for (const [reason, n] of Object.entries(event.rejected || {})) reasons.set(reason, (reasons.get(reason) || 0) + n);
  }
  if (reasons.size === 0) return null;
  return [h('h3', {}, 'Why'), facts(...[...reasons].sort((a, b) => b[1] - a[1]).map(([reason, n]) => [reason, count(n)]))];
}

export function list(events) {
  if (events.length === 0) return empty('Nothing has happened yet. Neighbours that are met, models that are sent and records that arrive appear here by themselves.');
  return h('ol', { class: 'events' }, events.map((e) => h('li', { class: ['warning', 'rejected', 'refused', 'unpaid'].includes(e.kind) ? 'bad' : null },
    h('time', { datetime: e.time }, clock(e.time)), h('span', { class: 'kind' }, words[e.kind] || e.kind), h('span', { class: 'text' }, text(e)))));
}

// text says what the event's own text does, and the facts that stand beside it.
function text(e) {
  const details = [
    e.peer && short(e.peer), e.reason, e.round && e.kind === 'released' && `round ${e.round}`,
    e.share && `${(100 * e.share).toPrecision(2)} % of the budget`, e.records && plural(e.records, 'record'), e.verdict, e.lost && `${count(e.lost)} events`,
  ].filter(Boolean);
  return details.length === 0 ? e.text : `${e.text} (${details.join(', ')})`;
}
