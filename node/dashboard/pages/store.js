// What the page knows of the node, and how it stays new: every event says that something
// may have changed; a slow clock is the fallback.
import { Gone, Locked, Refused, follow, get } from './api.js';

const clock = 15000, settle = 400, kept = 300;

export const data = { status: null, benefit: [], budget: null, neighbours: null, sums: null, events: [], refused: null, erased: false };

// start keeps the data up to date for ever. changed is called with "here" (the daemon
// answered), "data" (it refused something), "gone", "locked" or "event".
export function start(changed) {
  let pending = 0, wait = 500, since = 0, wake = () => {};
  const refresh = async () => {
    pending = 0;
    try {
      await load();
      changed('here');
    } catch (error) { fail(error); }
  };
  const soon = () => { pending ||= setTimeout(refresh, settle); };
  const fail = (error) => {
    if (error instanceof Locked) changed('locked');
    else if (error instanceof Gone) changed('gone');
    else { data.refused = error; changed('data'); }
  };
  const add = (event) => {
    since = event.id;
    data.events = [event, ...data.events.filter((e) => e.id !== event.id)].slice(0, kept);
    changed('event', event);
    soon();
  };
  const listen = async () => {
    for (;;) {
      try {
        await load();
        changed('here');
        wait = 500;
        await follow('/v1/events', since, soon, add, new AbortController().signal);
      } catch (error) {
        fail(error);
        if (error instanceof Locked) await new Promise((resolve) => { wake = resolve; });
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(2 * wait, 5000);
    }
  };
  listen();
  setInterval(() => { if (!document.hidden) soon(); }, clock);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) soon(); });
  return { soon, retry: () => wake() };
}

// first asks for what everything else needs, alone: who is not signed in is told once. Where
// the pages come from another process, that one says that the daemon is gone.
async function first(path) {
  try {
    return await get(path);
  } catch (error) {
    throw error instanceof Refused && error.status >= 500 ? new Gone(error.message) : error;
  }
}

// load asks for everything. What the daemon refuses stays as it was, and is told.
async function load() {
  let refused = null;
  const part = (path, before) => get(path).catch((error) => {
    if (!(error instanceof Refused)) throw error;
    refused = error;
    return before;
  });
  const status = await first('/v1/status');
  const [benefit, budget, neighbours] = await Promise.all([
    part('/v1/benefit', { points: data.benefit }), part('/v1/budget', data.budget), part('/v1/neighbours', data.neighbours)]);
  Object.assign(data, { status, budget, neighbours, benefit: benefit.points || [] });
  data.sums = status?.sums ? await part('/v1/sums', data.sums) : null;
  data.refused = refused;
}
