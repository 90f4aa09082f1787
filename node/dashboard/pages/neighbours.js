// Who are my neighbours, whom is refused, and who lies.
import { graph } from './graph.js';
import { card, code, empty, h, table } from './dom.js';
import { clock, lasting, plural, short } from './words.js';

export function neighbours({ neighbours: n, status }) {
  if (!n) return h('h1', {}, 'Who are my neighbours?');
  const list = n.neighbours || [], refused = n.refused || [];
  if (status.privacy.sums_only) return [...connected(status), card('Refused', refusedList(refused))];
  const here = list.filter((p) => p.connected).length;
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'Who are my neighbours?'), ' ',
        h('span', { class: 'answer' }, list.length === 0 ? 'Nobody yet' : plural(list.length, 'neighbour'))),
      h('p', {}, list.length === 0 ? '' : `${here} of them ${here === 1 ? 'is' : 'are'} connected now. Your node looks for ${n.degree}. The larger the weight, the more a neighbour's model counts in yours.`)),
    list.length + refused.length === 0 ? nobody(status) : h('div', { class: 'pair' }, card('Who learns with me', graph({ neighbours: list, refused }), legend(refused)), card('Weights, and why', weights(list))),
    card('Refused', refusedList(refused)),
  ];
}

// connected says who is there where nobody sends models.
function connected(status) {
  const none = status.connected === 0;
  return [
    h('section', { class: 'verdict' },
      h('h1', {}, h('span', { class: 'question' }, 'Who is connected?'), ' ', h('span', { class: 'answer' }, none ? 'Nobody yet' : plural(status.connected, 'peer'))),
      h('p', {}, 'Nobody sends models here, so there are no neighbours: what your node learns from others comes in ', h('a', { href: '#sums' }, 'private sums'), '.')),
    none ? nobody(status) : null,
  ];
}

function nobody(status) {
  return card('What to do',
    h('p', {}, 'Nodes on the same network find each other by themselves within a minute. If they do not, add the address of one:'),
    h('pre', {}, code('p2pnode peer add ADDRESS')),
    status.addrs?.length ? [h('p', {}, 'Others can add yours:'), h('ul', { class: 'plain' }, status.addrs.map((a) => h('li', {}, code(a))))] : null,
    h('p', {}, 'What keeps them apart, if something does, says: ', code('p2pnode doctor')));
}

function legend(refused) {
  return h('p', { class: 'quiet' }, 'Nearer and thicker: a larger weight. Hollow: not connected now.', refused.length > 0 ? ' Crossed: refused.' : '');
}

function weights(list) {
  if (list.length === 0) return empty('There is no neighbour yet.');
  return table('weights', 'The heaviest first', ['peer', ['weight', 'n'], 'state', 'neighbour for', 'why this weight'],
    [...list].sort((a, b) => b.weight - a.weight).map((p) => [peer(p.id), p.weight.toFixed(3), state(p), p.since ? lasting(1000 * p.since) : '–', p.why || '–']));
}

function state(p) {
  if (!p.connected) return 'away';
  return p.listening ? 'listening' : 'connected';
}

function refusedList(refused) {
  if (refused.length === 0) return empty('Nobody is refused. A peer that sends bad messages, contradicts itself or is not on the list of members would stand here.');
  return table('refused', 'The latest first', ['peer', 'why', ['times', 'n'], 'last', 'until'],
    refused.map((r) => [peer(r.peer), r.by_peer ? `${r.reason} (it refuses you)` : r.reason, String(r.times), clock(r.last), r.until ? clock(r.until) : 'as long as that lasts']));
}

// peer is the end of an ID, and all of it for who opens it.
function peer(id) {
  return h('details', { class: 'peer', id: `peer-${id}` }, h('summary', {}, short(id)), code(id));
}
