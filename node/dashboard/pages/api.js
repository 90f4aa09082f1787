// The daemon's interface below /v1. See its openapi.json for what each request means.

// Gone: nobody answers. Locked: the daemon does not know this browser.
export class Gone extends Error {}
export class Locked extends Error {}

// Refused is an answer that says what is wrong and what to do.
export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || `The daemon answered ${status}.`);
    this.hint = problem.hint || '';
    this.status = status;
  }
}

// The daemon tells half of a session's secret to the page, and half to the browser, as a
// cookie. Servers at other ports of the same host get the cookie, and not what is kept here.
const header = 'P2pnode-Session';

async function request(method, path, { body, headers, signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method, signal, cache: 'no-store', credentials: 'same-origin',
      headers: { ...headers, [header]: localStorage.getItem(header) ?? '', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    throw new Gone(String(error));
  }
  if (answer.status === 401) throw new Locked('not signed in');
  if (!answer.ok) throw new Refused(await answer.json().catch(() => ({})), answer.status);
  return answer;
}

async function value(answer) {
  const text = await answer.text();
  return text === '' ? null : JSON.parse(text);
}

export const get = async (path) => value(await request('GET', path));
export const post = async (path, body) => value(await request('POST', path, { body }));

// begin exchanges a code for a session.
export async function begin(code) {
  localStorage.setItem(header, (await post('/v1/session', { code })).key);
}

// download saves an answer as a file.
export async function download(path, name) {
  const address = URL.createObjectURL(await (await request('GET', path)).blob());
  Object.assign(document.createElement('a'), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// follow hands on each server-sent event after the one of the id since, until the
// connection ends. opened is called when it is there.
export async function follow(path, since, opened, each, signal) {
  const answer = await request('GET', path, { signal, headers: { Accept: 'text/event-stream', 'Last-Event-ID': String(since) } });
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value: piece } = await reader.read();
      if (done) return;
      const blocks = (rest + piece).replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const data = block.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).join('\n');
        if (data !== '') each(JSON.parse(data));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw new Gone(String(error));
  }
}
