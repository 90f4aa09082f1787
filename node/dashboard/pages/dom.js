// Elements from values. Text is always text: nothing that a peer says becomes markup.

export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// replace puts new children into an element. The one with the keyboard's focus keeps it if
// there is one of its id again, and tables stay scrolled.
export function replace(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement.id : '';
  const open = new Set([...element.querySelectorAll('details[open][id]')].map((d) => d.id));
  const scrolled = new Map([...element.querySelectorAll('.scroll[id]')].map((d) => [d.id, d.scrollLeft]));
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  for (const [id, left] of scrolled) document.getElementById(id)?.scrollTo(left, 0);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// table is one that can be scrolled with the keyboard where it is too wide. A column is a
// name, or a name and 'n' for numbers.
export function table(id, caption, columns, rows) {
  const kind = (k) => (Array.isArray(columns[k]) ? columns[k][1] : null);
  return h('div', { class: 'scroll', id: `${id}-scroll`, role: 'region', 'aria-label': caption, tabindex: 0 },
    h('table', {}, h('caption', {}, caption),
      h('thead', {}, h('tr', {}, columns.map((c, k) => h('th', { scope: 'col', class: kind(k) }, Array.isArray(c) ? c[0] : c)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell, k) =>
        (k === 0 ? h('th', { scope: 'row' }, cell) : h('td', { class: kind(k) }, cell))))))));
}

// facts are names with their values.
export function facts(...pairs) {
  return h('dl', { class: 'facts' }, pairs.filter(Boolean).map(([name, value, note]) =>
    h('div', {}, h('dt', {}, name), h('dd', {}, value, note ? h('small', {}, note) : null))));
}

export function card(title, ...children) {
  return h('section', { class: 'card' }, h('h2', {}, title), children);
}

export const code = (text) => h('code', {}, text);

export const empty = (...children) => h('p', { class: 'empty' }, children);
