// What somebody sees whom the daemon does not know.
import { begin } from './api.js';
import { code, h } from './dom.js';

export function signIn(done) {
  const field = h('input', { id: 'code', name: 'code', autocomplete: 'one-time-code', spellcheck: 'false', autocapitalize: 'off', required: true, 'aria-describedby': 'code-said' });
  const said = h('p', { id: 'code-said', class: 'said', role: 'status' });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await begin(field.value.trim().replace(/^.*#code=/, ''));
      done();
    } catch {
      said.textContent = 'This code is wrong, or too old, or was used before. Ask for a new one.';
      field.focus();
    }
  };
  return h('section', { class: 'narrow' },
    h('h1', {}, 'Whose node is this?'),
    h('p', {}, 'Only its owner may look. Ask for an address in a terminal on the machine of the node, and open it here:'),
    h('pre', {}, code('p2pnode dashboard')),
    h('form', { onsubmit: enter },
      h('label', { for: 'code' }, 'Or type the code at the end of that address'),
      h('div', { class: 'row' }, field, h('button', { type: 'submit', class: 'main' }, 'Open')),
      said));
}
