// What arrived, what was rejected, and what happened.
import { card, empty, facts, h } from './dom.js';
import { bytes, clock, count, finding, plural, share, short } from './words.js';

const words = {
  gap: 'earlier', started: 'started', stopped: 'stopped', paused: 'paused', resumed: 'resumed', met: 'new neighbour', left: 'neighbour left', refused: 'refused',
  released: 'model sent', unpaid: 'budget used', imported: 'records', deleted: 'deleted', sum: 'private sum', result: 'private sum', rejected: 'rejected', fitted: 'measured',
  backup: 'backup', erased: 'erased', warning: 'warning',
};

const findings = { better: 'it helps', worse: 'it does not help', 'cannot tell': 'cannot tell whether it helps' };

export function activity({ status, events }) {
  const t = status.traffic;
  const turned = t.rejected + t.ignored, only = status.privacy.sums_only;
  const arrived = only ? `${plural(status.sums.known, 'result')} of private sums` : plural(t.delivered, 'model');
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'What arrived, what was rejected?'), ' ',
        h('span', { class: 'answer' }, `${arrived} arrived, ${turned === 0 ? 'none was rejected' : `${count(turned)} rejected`}`)),
      h('p', {}, 'Everything that arrives is checked before it counts: its form, its sender and its age. Traffic is counted since the node started.')),
    card('Traffic', facts(
      !only && ['models sent', count(t.published)],
      !only && ['models arrived', count(t.delivered)],
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

// list shows events, the newest first, at most so many. Models that were sent one after the
// other are one line.
export function list(events, most = Infinity) {
  if (events.length === 0) return empty('Nothing has happened yet. Neighbours that are met, models that are sent and records that arrive appear here by themselves.');
  return h('ol', { class: 'events' }, folded(events).slice(0, most).map((e) => h('li', { class: ['warning', 'rejected', 'refused'].includes(e.kind) ? 'bad' : null },
    h('time', { datetime: e.time }, clock(e.time)), h('span', { class: 'kind' }, words[e.kind] || e.kind), h('span', { class: 'text' }, text(e)))));
}

// folded makes one event of releases that follow each other: the newest, with how many there
// were, their first round and what they cost together.
function folded(events) {
  const out = [];
  for (const e of events) {
    const last = out.at(-1);
    if (e.kind === 'released' && last?.kind === 'released') {
      out[out.length - 1] = { ...last, times: (last.times || 1) + 1, first: e.round, share: (last.share || 0) + (e.share || 0) };
    } else out.push(e);
  }
  return out;
}

// text says what happened in the owner's words, or else what the event's own text does, and
// the facts that stand beside it.
function text(e) {
  switch (e.kind) {
    case 'released': if (e.times) return `${count(e.times)} of them, rounds ${e.first} to ${e.round}; they cost ${share(e.share)} of the budget`;
      return `round ${e.round}; it cost ${share(e.share || 0)} of the budget`;
    case 'met': if (e.peer) return `${short(e.peer)} learns with you now`; break; // without a peer it is a count
    case 'left': if (e.peer) return [`${short(e.peer)} does so no more`, e.reason].filter(Boolean).join(': '); break;
    case 'fitted': return `with ${plural(e.records || 0, 'record')}: ${finding(findings[e.verdict] || 'there is nothing to compare yet', e.by_log_loss)}`;
    case 'imported': return [`${plural(e.records || 0, 'record')} stored`, e.replaced && `${count(e.replaced)} replaced`, e.same && `${count(e.same)} the same`, e.records_missing && `new ones wait for ${count(e.records_missing)} more`].filter(Boolean).join(', ');
    case 'rejected': return Object.entries(e.rejected || {}).map(([reason, n]) => `${count(n)}: ${reason}`).join(', ') || e.text;
  }
  const details = [e.peer && short(e.peer), e.reason, e.records && plural(e.records, 'record'), e.lost && plural(e.lost, 'event'), e.sum && sum(e.sum)].filter(Boolean);
  return details.length === 0 ? e.text : `${e.text} (${details.join('; ')})`;
}

function sum(s) {
  return `${s.kind || s.recipe}, epoch ${s.epoch}, round ${s.round}: ${s.state}${s.contributors ? `, of ${plural(s.contributors, 'person', 'people')}` : ''}`;
}
