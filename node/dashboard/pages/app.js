// The page as a whole: who is asked for a code, which view is shown, what is said of the
// daemon's state.
import { Gone, Locked, begin, post } from './api.js';
import { h, replace } from './dom.js';
import { data, start } from './store.js';
import { signIn } from './signin.js';
import { overview } from './overview.js';
import { privacy } from './privacy.js';
import { neighbours } from './neighbours.js';
import { activity } from './activity.js';
import { records } from './records.js';
import { sums } from './sums.js';
import { keep } from './keep.js';
import { plural, sumsWait } from './words.js';

const views = { overview, privacy, neighbours, activity, data: records, sums, keep };
const at = (id) => document.getElementById(id);
let state = 'waiting'; // waiting, here, gone, locked
let shown = ''; // the view
let failure = null; // of what the owner asked for last
let store;

// say tells those who listen to the page.
function say(text) { at('said').textContent = text; }

function route() {
  const name = location.hash.slice(1) || 'overview';
  return name in views ? name : 'overview';
}

function draw() {
  drawHead();
  drawNotices();
  if (state === 'locked' || !data.status) return;
  const name = route();
  const view = views[name];
  if (view.still && shown === name) return; // it holds what the owner types
  for (const link of at('nav').children) link.toggleAttribute('aria-current', false);
  const link = [...at('nav').children].find((l) => l.hash === `#${name}`);
  link?.setAttribute('aria-current', 'page');
  document.title = `${link?.textContent || 'p2pnode'} – ${data.status.task}`;
  const main = at('main');
  if (shown !== name) main.replaceChildren();
  shown = name;
  replace(main, view(data, store));
}

function condition() {
  if (state === 'gone') return ['gone', 'Not running'];
  if (paused()) return ['paused', 'Paused'];
  return data.status?.running ? ['on', 'Taking part'] : ['paused', 'Not taking part'];
}

const paused = () => (data.status?.paused || []).length > 0;

function drawHead() {
  const known = data.status !== null && state !== 'locked';
  at('nav').hidden = !known;
  at('state').hidden = at('pause').hidden = !known;
  if (!known) return;
  at('task').textContent = data.status.task;
  const [kind, words] = condition();
  at('state').className = `state ${kind}`;
  at('state').textContent = words;
  at('pause').textContent = paused() ? 'Resume' : 'Pause';
  [...at('nav').children].find((l) => l.hash === '#sums').hidden = !data.status.sums;
}

// drawNotices says what the owner must know on every page. What stays is not said twice.
function drawNotices() {
  const notices = state === 'locked' ? [] : [...troubles()];
  const text = notices.map((n) => n.join(' ')).join('\n');
  if (at('notices').dataset.text === text) return;
  at('notices').dataset.text = text;
  at('notices').replaceChildren(...notices.map(([title, words]) => h('p', {}, h('strong', {}, title), ' ', words)));
}

function* troubles() {
  const s = data.status;
  if (data.erased) return;
  if (state === 'gone') {
    yield ['The daemon does not answer.', s ? 'You see what was last known. This page goes on by itself as soon as the daemon runs again: p2pnode run' : 'Start it with: p2pnode run'];
  }
  for (const error of [failure, data.refused]) if (error) yield [error.message, error.hint || ''];
  if (!s) return;
  if (s.contradicted_round > 0 || s.contradicted_by_sum) {
    yield ['This directory is an old copy.', 'Others have seen newer models of this node, so nothing is sent any more. Put the newest directory back; if it is lost: p2pnode restore'];
  }
  if (s.privacy.unbounded) yield ['Nothing is guaranteed.', 'Models were or will be sent without noise. The page Privacy says more.'];
  if (paused()) {
    const reasons = s.paused.map((p) => p.reason).filter(Boolean);
    yield ['The node is paused.', `It keeps your records and answers you, and sends and receives nothing until you resume it.${sumsWait(s.sums) ? ' It is a member of the committee, so no private sum opens for anybody meanwhile.' : ''}${reasons.length > 0 ? ` Why: ${reasons.join(', ')}.` : ''}`];
  }
  if (s.set_aside > 0) yield [`${plural(s.set_aside, 'record')} of the first release cannot be used.`, 'Delete them and import them again; p2pnode data list says which.'];
}

function turn(next) {
  const before = state;
  state = next;
  if (next === 'locked') {
    shown = '';
    drawHead();
    if (before !== 'locked') replace(at('main'), signIn(() => { state = 'waiting'; store.retry(); }));
  }
  if (next === 'here' && before === 'gone') say('The daemon is back.');
  draw();
}

function changed(what, event) {
  if (what === 'event') {
    if (['paused', 'resumed', 'imported', 'result', 'warning'].includes(event.kind)) say(event.text);
  } else if (what === 'data') draw();
  else turn(what);
}

async function pause() {
  const resume = paused();
  failure = null;
  try {
    await post(resume ? '/v1/resume' : '/v1/pause', { reason: '' });
    say(resume ? 'The node takes part again.' : 'The node is paused.');
  } catch (error) {
    if (error instanceof Locked) turn('locked');
    else if (error instanceof Gone) turn('gone');
    else failure = error;
  }
  store.soon();
  draw();
}

// enter exchanges the code in the address for a session, and removes it from there first.
async function enter() {
  const found = location.hash.match(/^#code=(.+)$/);
  if (!found) return;
  history.replaceState(null, '', location.pathname);
  try {
    await begin(decodeURIComponent(found[1]));
  } catch { /* the page asks for another one */ }
}

await enter();
store = start(changed);
at('pause').addEventListener('click', pause);
document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); at('main').focus(); });
addEventListener('hashchange', async () => {
  if (location.hash.startsWith('#code=')) { await enter(); store.retry(); return; }
  failure = null;
  draw();
  at('main').focus();
  scrollTo(0, 0);
});
