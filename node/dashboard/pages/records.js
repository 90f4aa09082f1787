// What my data looks like to the node.
import { card, code, empty, facts, h, table } from './dom.js';
import { count, plural, share } from './words.js';

export function records({ status: s }) {
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'What does my data look like?'), ' ', h('span', { class: 'answer' }, s.records === 0 ? 'There is none yet' : plural(s.records, 'record'))),
      s.records === 0 ? [h('p', {}, 'Import a file with a line for each record:'), h('pre', {}, code('p2pnode data import FILE.csv'))]
        : h('p', {}, 'They stay on this device. The node learns from most of them, and holds every fifth out to measure itself.')),
    s.records === 0 ? null : card('How they are used', facts(
      ['learned from', count(s.records - s.held_out)],
      ['held out', count(s.held_out), 'to measure on; never part of what is sent'],
      s.set_aside > 0 && ['set aside', count(s.set_aside), 'of the first release; they serve nothing'],
      ['kept', keep(s.keep)])),
    s.records === 0 ? null : card('Cells that were not taken as they are', cells(s)),
    card('More of them', h('p', {}, 'A file that was imported is not taken twice, nor one that begins with it. New records begin a group with a privacy budget of its own.'),
      h('ul', { class: 'plain' },
        h('li', {}, code('p2pnode data import FILE.csv'), ' takes a file'), h('li', {}, code('p2pnode data watch DIR'), ' takes each file that comes into a directory'),
        h('li', {}, code('p2pnode data list'), ' shows what is there'), h('li', {}, code('p2pnode data delete NUMBER'), ' deletes some'))),
  ];
}

function keep(k) {
  if (!k || (!k.records && !k.days)) return 'all of them, for good';
  return [k.records && `the newest ${count(k.records)}`, k.days && `for ${plural(k.days, 'day')}`].filter(Boolean).join(', ');
}

function cells(s) {
  const list = s.cells || [];
  if (list.length === 0) return empty('Every cell was taken as it is.');
  const worst = Math.max(...list.map((c) => c.clamped + c.unknown)) / s.records;
  return [
    table('cells', 'By column', ['column', ['clamped', 'n'], ['unknown', 'n'], ['empty', 'n']], list.map((c) => [c.column, count(c.clamped), count(c.unknown), count(c.empty)])),
    h('p', { class: 'quiet' }, 'Clamped: outside the range of the task, and taken for its nearest end. Unknown: a text that the task does not name, taken for none. Empty: no value.'),
    worst > 0.2 ? h('p', { class: 'bad' }, `In the worst column that is ${share(worst)} of the records: the task may not fit your data.`) : null,
  ];
}
