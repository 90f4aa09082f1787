// What the page knows of the node, and how it stays new: every event says that something
// may have changed; a slow clock is the fallback.
import { Gone, Locked, Refused, follow, get } from './api.js';

const clock = 15000, settle = 400, kept = 300;

export const data = { status: null, benefit: [], budget: null, neighbours: null, sums: null, events: [], refused: null, erased: false };

// start keeps the data up to date for ever. changed is called with "data", "here" (the
// daemon answers), "gone", "locked" or "event".
export function start(changed) {
  let pending = 0, wait = 500, since = 0, wake = () => {};
  const refresh = async () => {
    pending = 0;
    try {
      await load();
      changed('data');
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
        changed('data');
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

// load asks for everything. What the daemon refuses stays as it was, and is told.
async function load() {
  let refused = null;
  const part = (path, before) => get(path).catch((error) => {
    if (!(error instanceof Refused)) throw error;
    refused = error;
    return before;
  });
  const status = await part('/v1/status', data.status); // first alone: who is not signed in is told once
  const [benefit, budget, neighbours] = await Promise.all([
    part('/v1/benefit', { points: data.benefit }), part('/v1/budget', data.budget), part('/v1/neighbours', data.neighbours)]);
  Object.assign(data, { status, budget, neighbours, benefit: benefit.points || [] });
  data.sums = status?.sums ? await part('/v1/sums', data.sums) : null;
  data.refused = refused;
}
