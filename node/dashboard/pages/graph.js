// Who learns with this node, as a star: the nearer and the thicker, the more a neighbour's
// model counts.
import { svg } from './dom.js';
import { short } from './words.js';

const size = 380, middle = size / 2, far = 138, near = 78;

export function graph({ neighbours, refused }) {
  const all = [...neighbours.map((n) => ({ ...n, kind: n.connected ? 'here' : 'away' })), ...refused.map((r) => ({ id: r.peer, kind: 'refused' }))]
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const most = Math.max(...neighbours.map((n) => n.weight), 0) || 1;
  const least = Math.min(...neighbours.map((n) => n.weight));
  const nodes = all.map((n, k) => {
    const angle = 2 * Math.PI * k / all.length + Math.PI;
    const closeness = n.kind === 'refused' ? 0 : most > least ? (n.weight - least) / (most - least) : 0.5;
    const distance = n.kind === 'refused' ? far + 20 : far - (far - near) * closeness;
    return { ...n, x: middle + distance * Math.cos(angle), y: middle + distance * Math.sin(angle), width: 1.5 + 5 * (n.weight || 0) / most };
  });
  const above = Math.min(middle - 30, ...nodes.map((n) => n.y)) - 35, below = Math.max(middle + 30, ...nodes.map((n) => n.y)) + 35;
  return svg('svg', { class: 'star', viewBox: `0 ${above.toFixed()} ${size} ${(below - above).toFixed()}`, role: 'img', 'aria-label': summary(neighbours, refused) },
    nodes.filter((n) => n.kind !== 'refused').map((n) => svg('line', { class: `edge ${n.kind}`, x1: middle, y1: middle, x2: n.x, y2: n.y, 'stroke-width': n.width.toFixed(1) })),
    nodes.map((n) => svg('g', { class: `peer ${n.kind}` }, svg('circle', { cx: n.x, cy: n.y, r: 9 }), n.kind === 'refused' ? cross(n) : null,
      svg('text', { x: n.x, y: n.y + (n.y < middle ? -15 : 25), 'text-anchor': 'middle' }, short(n.id)))),
    svg('circle', { class: 'self', cx: middle, cy: middle, r: 15 }),
    svg('text', { class: 'self', x: middle, y: middle + 32, 'text-anchor': 'middle' }, 'you'));
}

function cross({ x, y }) {
  return svg('path', { d: `M${x - 4} ${y - 4}l8 8m0-8l-8 8` });
}

function summary(neighbours, refused) {
  const here = neighbours.filter((n) => n.connected).length;
  return `A star with you in the middle: ${neighbours.length} neighbours, of whom ${here} are connected, and ${refused.length} refused. The tables below list them.`;
}
