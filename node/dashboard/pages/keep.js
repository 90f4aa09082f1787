// Backup and erase.
import { download, post } from './api.js';
import { card, code, facts, h, replace } from './dom.js';
import { sumsWait } from './words.js';

export function keep(data) {
  const { status } = data;
  return [
    h('section', { class: 'verdict' }, h('h1', {}, 'Backup and erase')),
    card('Back it up',
      h('p', {}, 'The copy holds your records, readable for anybody who gets it, and what of the budget was spent. Keep it where only you can read it.'),
      backup(status),
      h('p', { class: 'quiet' }, 'Not in it: the identity and the settings (identity.key, config.toml, task.toml). Keep copies of those files too. ',
        'To go back to a copy: ', code('p2pnode restore FILE'), '. Records that are restored pay for nothing any more, because the copy does not know what was sent since.')),
    card('About this node', facts(['peer ID', code(status.peer)], ['task', status.task], ['network', code(status.network)], ['learner', status.learner])),
    erase(data),
  ];
}

function backup(status) {
  const said = h('p', { class: 'said', role: 'status' });
  const save = async () => {
    said.textContent = 'Copying …';
    try {
      await download('/v1/backup', `p2pnode-${status.task}-${new Date().toISOString().slice(0, 10)}.db`);
      said.textContent = '';
    } catch (error) {
      said.textContent = [error.message, error.hint].filter(Boolean).join(' ');
    }
  };
  return h('div', {}, h('p', {}, h('button', { id: 'backup', type: 'button', onclick: save }, 'Download a copy')), said);
}

// It holds what is being typed, so it is not drawn again while it is shown.
keep.still = true;

function erase(data) {
  const { status } = data;
  const section = h('section', { class: 'card danger', 'aria-labelledby': 'erase-title' });
  const said = h('p', { id: 'erase-said', class: 'said', role: 'status' });
  const field = h('input', { id: 'erase-id', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', 'aria-describedby': 'erase-hint erase-said' });
  const submit = async (event) => {
    event.preventDefault();
    if (field.value.trim() !== status.peer) {
      said.textContent = 'This is not the peer ID of this node. Nothing was erased.';
      field.focus();
      return;
    }
    said.textContent = 'Erasing …';
    try {
      await post('/v1/erase', { confirm: status.peer });
      data.erased = true;
      replace(section, h('h2', { id: 'erase-title' }, 'Erased'), h('p', {}, 'The node told its neighbours and is gone. What it sent before is public for ever.'));
    } catch (error) {
      said.textContent = [error.message, error.hint].filter(Boolean).join(' ');
    }
  };
  section.append(h('h2', { id: 'erase-title' }, 'Erase this node'),
    h('p', {}, 'Everything goes: records, models, the ledger, the identity. The daemon tells the neighbours and stops. There is no way back, and what was sent is not called back.'),
    sumsWait(status.sums) ? h('p', {}, 'It is a member of the committee. If you have moved its whole directory, nothing is lost: run it there. ',
      'If this is the only copy, no private sum of the task opens for anybody any more: agree with the others on a new committee, which is a new task.') : '',
    h('form', { onsubmit: submit },
      h('label', { for: 'erase-id' }, 'To confirm, type the peer ID of this node'),
      h('p', { id: 'erase-hint', class: 'quiet' }, 'It stands above.'),
      h('div', { class: 'row' }, field, h('button', { type: 'submit', class: 'danger' }, 'Erase for ever')), said));
  return section;
}
