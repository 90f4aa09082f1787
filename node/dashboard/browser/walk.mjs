// Walks through the dashboard of a running node in Chromium, as an owner does, and says what
// is wrong. The Go test beside the daemon starts it: what only the daemon's owner can do in a
// terminal it asks for on standard output, one word a line, and waits for the answer.
//
//   node walk.mjs CHROMIUM ADDRESS-WITH-CODE PEER-ID
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const [chromiumPath, address, peer] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const patience = 60000;
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function terminal(word) {
  console.log(word);
  const { value } = await answers.next();
  return value;
}

const { origin } = new URL(address);
const foreign = [], errors = [];
let away = false; // the daemon is, so requests fail

function watch(page) {
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !(away && /Failed to load resource|net::ERR/.test(message.text()))) errors.push(message.text());
  });
}

// open makes a window that reaches nothing but the daemon.
async function open(context, url) {
  await context.route('**/*', (route) => {
    if (new URL(route.request().url()).origin === origin) return route.continue();
    foreign.push(route.request().url());
    return route.abort();
  });
  const page = await context.newPage();
  watch(page);
  await page.goto(url);
  return page;
}

const answer = (page) => page.locator('.answer');
const go = async (page, name) => {
  await page.locator('nav').getByRole('link', { name, exact: true }).click();
  await page.locator('main h1').waitFor();
};

async function signsIn(page, context) {
  await page.getByText('Is it helping me?').waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the code stays in the address bar');
  const [cookie] = await context.cookies();
  assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict', `the cookie is ${JSON.stringify(cookie)}`);
}

async function livesOn(page) {
  let loads = 0;
  page.on('load', () => { loads++; });
  await go(page, 'Neighbours');
  await page.getByRole('heading', { name: '2 neighbours' }).waitFor();
  assert.equal(await page.locator('#weights-scroll tbody tr').count(), 2);
  await go(page, 'Data');
  const before = Number.parseInt(await answer(page).textContent(), 10);
  const more = Number(await terminal('import'));
  await page.getByRole('heading', { name: `${before + more} records` }).waitFor();
  await go(page, 'Activity');
  await page.locator('.events .kind', { hasText: 'records' }).first().waitFor();
  const newest = page.locator('.events li', { hasText: 'model sent' }).first(); // of which one line may tell of many
  const sent = await newest.textContent();
  await newest.filter({ hasNotText: sent }).waitFor();
  assert.equal(loads, 0, 'the page was loaded again');
}

async function pauses(page) {
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('#state', { hasText: 'Paused' }).waitFor();
  assert.equal(await terminal('paused?'), 'true');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.locator('#state', { hasText: 'Taking part' }).waitFor();
  assert.equal(await terminal('paused?'), 'false');
}

async function survives(page) {
  away = true;
  await terminal('stop');
  await page.getByText('The daemon does not answer.').waitFor();
  assert.ok(await page.locator('main h1').isVisible(), 'what was last known has gone');
  await terminal('start');
  await page.locator('#state', { hasText: 'Taking part' }).waitFor();
  await page.getByText('The daemon does not answer.').waitFor({ state: 'detached' });
  away = false;
}

// waits: when everything was spent and too few new records have come, neither page says that
// nothing is spent.
async function waits(page) {
  const said = { '/v1/status': (s) => Object.assign(s.privacy, { spent: 0, left: 9, records_missing: 1 }),
    '/v1/budget': (b) => Object.assign(b, { releases_left: 0, records_missing: 1,
      cohorts: [{ ...b.cohorts[0], spent_share: 1, releases_left: 0 }, { ...b.cohorts[0], cohort: 2, spent_share: 0, releases_left: 9 }] }) };
  const change = async (route) => {
    const json = await (await route.fetch()).json();
    said[new URL(route.request().url()).pathname](json);
    return route.fulfill({ json });
  };
  for (const path of Object.keys(said)) await page.route(`**${path}`, change);
  await go(page, 'Overview');
  await page.locator('#tile-privacy', { hasText: 'of older records; new records wait for 1 more' }).waitFor();
  assert.equal(await page.locator('#tile-privacy .figure').textContent(), '100\u00a0%');
  await go(page, 'Privacy');
  await page.getByText('New records wait for 1 more training record').waitFor();
  assert.equal(await answer(page).textContent(), 'All of the budget of older records');
  assert.equal(await page.locator('.verdict meter').getAttribute('value'), '1');
  await page.unrouteAll({ behavior: 'wait' });
}

// scales: errors in thousandths of a unit are not shown as 0.0004.
async function scales(page) {
  await page.route('**/v1/status', async (route) => {
    const json = await (await route.fetch()).json();
    Object.assign(json.personal, { measure: 'RMSE', personal: 0.00041234, alone: 0.00042345, gain: null, by_log_loss: false });
    return route.fulfill({ json });
  });
  await go(page, 'Overview');
  await page.getByText('the error (RMSE) is 0.0004123 with your neighbours and 0.0004235 alone').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
}

// walks goes through the page with the keyboard: everything that can be used is reached and
// shows that it is.
async function walks(page) {
  await page.goto(`${origin}/#keep`);
  await page.locator('#erase-id').waitFor();
  const wanted = await page.locator('a[href]:visible, button:visible, input:visible').count();
  const seen = new Set();
  for (let k = 0; k < wanted + 5 && seen.size < wanted; k++) {
    await page.keyboard.press('Tab');
    const [name, outline] = await page.evaluate(() => {
      const e = document.activeElement;
      return [e.id || e.getAttribute('href') || e.localName, getComputedStyle(e).outlineStyle];
    });
    if (name === 'body') continue; // past the last one; the first is next
    assert.notEqual(outline, 'none', `${name} does not show that it has the focus`);
    seen.add(name);
  }
  assert.equal(seen.size, wanted, `the keyboard reaches ${[...seen]}`);
  await page.locator('nav a', { hasText: 'Privacy' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('What have I spent?').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
}

async function erasesOnlyWhenAsked(page) {
  await go(page, 'Backup and erase');
  await page.locator('#erase-id').fill(`${peer}x`);
  await page.getByRole('button', { name: 'Erase for ever' }).click();
  await page.getByText('This is not the peer ID of this node.').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#backup').click()]);
  const file = await download.path();
  assert.ok(readFileSync(file).length > 4096, 'the copy is empty');
}

// reads looks for what keeps people out, on every page, in light and dark, at one width.
async function reads(context, width) {
  const page = await context.newPage();
  watch(page);
  await page.setViewportSize({ width, height: 800 });
  await page.goto(origin);
  await page.evaluate(axe);
  for (const name of ['overview', 'privacy', 'neighbours', 'activity', 'data', 'keep']) {
    await page.evaluate((hash) => { location.hash = hash; }, name);
    await page.locator(`nav a[aria-current][href="#${name}"]`).waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px wider than ${width}`);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      const bad = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
      assert.deepEqual(bad.map((v) => [v.id, v.nodes[0].html]), [], `${name}, ${width} px, ${colorScheme}`);
    }
  }
  await page.close();
}

// keepsOut: neither nobody nor a code that was used sees anything.
async function keepsOut(browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  await page.getByText('Whose node is this?').waitFor();
  assert.ok(!(await page.locator('body').textContent()).includes(peer), 'a stranger sees the peer ID');
  await page.getByLabel('Or type the code').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('This code is wrong').waitFor();
  await context.close();
}

const browser = await chromium.launch({ executablePath: chromiumPath, args: flags });
const context = await browser.newContext({ reducedMotion: 'reduce' });
try {
  context.setDefaultTimeout(patience);
  const page = await open(context, address);
  await signsIn(page, context);
  await livesOn(page);
  await pauses(page);
  await survives(page);
  await waits(page);
  await scales(page);
  await walks(page);
  await erasesOnlyWhenAsked(page);
  await Promise.all([360, 768, 1280].map((width) => reads(context, width)));
  assert.deepEqual(foreign, [], 'requests off the machine');
  assert.deepEqual(errors, [], 'errors on the console');
  await keepsOut(browser);
  console.log('passed');
} catch (error) {
  console.error(await context.pages()[0]?.locator('#notices').textContent().catch(() => ''), errors);
  throw error;
} finally {
  await browser.close();
}
process.exit(0);
