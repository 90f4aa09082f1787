// A chart of what the owner's models err by, over time, as SVG in the page's own pixels.
import { h, svg } from './dom.js';
import { measured } from './words.js';

const height = 260, top = 12, bottom = 44;
const right = 30; // half of a time, which may stand below the end
const shortest = 60000; // that the axis of time spans

// chart draws lines over a shared time axis, and a band. Each line has a name, a class, and
// for each time a value.
export function chart({ title, unit, times, lines, band }) {
  const figure = h('figure', { class: 'chart' },
    h('ul', { class: 'legend' },
      lines.map((l) => h('li', {}, swatch(l.class), l.name)),
      band ? h('li', {}, swatch('band'), band.name) : null));
  const place = h('div', { class: 'plot' });
  figure.append(place);
  let drawn = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width < 50 || width === drawn) return;
    drawn = width;
    place.replaceChildren(plot(width, { title, unit, times, lines, band }));
  }).observe(place);
  return figure;
}

function swatch(kind) {
  return svg('svg', { width: 22, height: 10, 'aria-hidden': 'true' },
    kind === 'band' ? svg('rect', { class: 'band', width: 22, height: 10 }) : svg('line', { class: `line ${kind}`, x1: 0, x2: 22, y1: 5, y2: 5 }));
}

function plot(width, { title, unit, times, lines, band }) {
  const shown = [...lines.flatMap((l) => l.values), ...(band ? [...band.low, ...band.high] : [])].filter(Number.isFinite);
  const [low, high] = widen(Math.min(...shown), Math.max(...shown));
  const levels = ticks(low, high, 7);
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(levels[1] - levels[0]) + 1e-9)));
  const left = 30 + 7.5 * Math.max(...levels.map((v) => v.toFixed(digits).length));
  const from = times[0], to = Math.max(times.at(-1), from + shortest);
  const x = (t) => left + (width - left - right) * (t - from) / (to - from);
  const y = (v) => top + (height - top - bottom) * (high - v) / (high - low);
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title },
    levels.map((v) => [
      svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
      svg('text', { x: left - 8, y: y(v) + 4, 'text-anchor': 'end' }, v.toFixed(digits))]),
    moments(from, to, Math.max(2, Math.floor((width - left) / 110))).map((t) =>
      svg('text', { x: x(t), y: height - bottom + 20, 'text-anchor': 'middle' }, moment(t, to - from))),
    svg('text', { class: 'label', x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, 'time of the measurement'),
    svg('text', { class: 'label', transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, unit),
    band ? svg('path', { class: 'band', d: area(times.map((t, k) => [x(t), y(band.low[k]), y(band.high[k])])) }) : null,
    lines.map((l) => line(l, times.map((t, k) => [x(t), y(l.values[k])]))));
}

function line({ class: kind }, points) {
  const [endX, endY] = points.at(-1);
  return [
    svg('path', { class: `line ${kind}`, d: `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')}` }),
    svg('circle', { class: `dot ${kind}`, cx: endX, cy: endY, r: 4 })];
}

// area is what lies between two edges, in as many pieces as there are gaps.
function area(points) {
  const pieces = [];
  let piece = [];
  for (const p of [...points, null]) {
    if (p && p.every(Number.isFinite)) { piece.push(p); continue; }
    if (piece.length === 1) piece = [[piece[0][0] - 3, piece[0][1], piece[0][2]], [piece[0][0] + 3, piece[0][1], piece[0][2]]];
    if (piece.length > 0) {
      const edge = (side) => piece.map((q) => `${q[0].toFixed(1)} ${q[side].toFixed(1)}`);
      pieces.push(`M${[...edge(1), ...edge(2).reverse()].join('L')}Z`);
    }
    piece = [];
  }
  return pieces.join('');
}

// widen leaves air around a range; around zero alone so much that its levels are written otherwise.
function widen(low, high) {
  const air = Math.max((high - low) * 0.08, Math.abs(high) * 0.002, low === 0 && high === 0 ? 1e-5 : 1e-9);
  return [low - air, high + air];
}

// ticks are round numbers in a range.
function ticks(low, high, most) {
  const unit = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => (high - low) / s <= most);
  const list = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) list.push(k * step);
  return list;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000, 31536000];

// moments are round times in a range, by the owner's clock.
function moments(from, to, most) {
  const step = 1000 * (steps.find((s) => (to - from) / (1000 * s) <= most) || steps.at(-1));
  const offset = 60000 * new Date(from).getTimezoneOffset();
  const list = [];
  for (let t = Math.ceil((from - offset) / step) * step + offset; t <= to; t += step) list.push(t);
  return list;
}

function moment(t, span) {
  if (span > 2 * 86400000) return new Date(t).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  const time = { hour: '2-digit', minute: '2-digit', second: span < 600000 ? '2-digit' : undefined };
  return new Date(t).toLocaleTimeString('en-GB', time);
}

// describe says in words what such a chart shows.
export function describe(points) {
  const last = points.at(-1);
  return `Error over time on your own held-out records: now ${measured(last.personal, last)} with others, ${measured(last.alone, last)} alone.`;
}
