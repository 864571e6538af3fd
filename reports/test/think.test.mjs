// The page to think on in headless Chromium, from a file without a network: the same answers as the command line, sliders,
// addresses, keyboard, screen reader, and nothing on the console.
//   THINK_PAGE=.../think.html TILESCOPE=.../tilescope node --test test/think.test.mjs       (make page-check)
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Browser, colours, violations } from './chromium.mjs';
import { random_options } from './think_points.mjs';

const { THINK_PAGE, TILESCOPE } = process.env;
if (!THINK_PAGE || !TILESCOPE) throw new Error('THINK_PAGE and TILESCOPE must name the page and the program; make page-check sets them');
const address = pathToFileURL(THINK_PAGE).href;
const points = Number(process.env.THINK_POINTS ?? 500);

let browser;
before(async () => {
  browser = await Browser.start();
  await browser.context.setOffline(true);
});
after(() => browser.stop());

const answered = (page) => page.waitForFunction(() => document.documentElement.dataset.answered && !document.documentElement.dataset.busy, null, { timeout: 60000 });
const settled = (page) => page.waitForFunction(() => !document.documentElement.dataset.busy && document.documentElement.dataset.slow === 'done', null, { timeout: 120000 });
async function open(hash = '', options = {}) {
  const page = await browser.open(address + hash, options);
  await answered(page);
  return page;
}
async function close(page) {
  assert.deepEqual(page.trouble, []);
  await page.close();
}

// The command line's answer, or its message.
function program(options) {
  return new Promise((resolve) => {
    execFile(TILESCOPE, [...options, '--format', 'json'], { maxBuffer: 1 << 26 }, (error, out, complaint) => resolve(out.trim() || complaint.trim()));
  });
}

// Numbers apart, texts are the same: where they differ, and by how much of the greater.
function differences(ours, theirs, path = '') {
  if (typeof ours === 'number' && typeof theirs === 'number') return ours === theirs ? [] : [{ path, by: Math.abs(ours - theirs) / Math.max(Math.abs(ours), Math.abs(theirs)) }];
  if (ours === null || theirs === null || typeof ours !== 'object' || typeof theirs !== 'object') return ours === theirs ? [] : [{ path, by: Infinity, ours, theirs }];
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...keys].flatMap((key) => differences(ours[key], theirs[key], `${path}.${key}`));
}

test(`${points} random points have the JSON of the command line`, { timeout: 3600000 }, async () => {
  const page = await open();
  const catalogue = await page.evaluate(() => window.tilescope_page.catalogue);
  const tally = { predictions: 0, refused: 0, same: 0, last_digits: 0 }, took = [], wrong = [];
  for (let i = 0; i < points; ++i) {
    if (i % 100 === 99) console.log(`# ${i + 1} points: ${JSON.stringify(tally)}`);
    const options = random_options(catalogue);
    const [reply, expected] = await Promise.all([
      page.evaluate((given) => window.tilescope_page.fast.ask('test', 'predict', given), options),
      program(['predict', ...options.flatMap(([name, value]) => [`--${name}`, value])]),
    ]);
    if (reply.error) {
      ++tally.refused;
      if (reply.error !== expected) wrong.push({ options, ours: reply.error, theirs: expected.slice(0, 500) });
      continue;
    }
    ++tally.predictions;
    took.push(reply.milliseconds);
    if (reply.text === `{"answer": ${expected}}`) { ++tally.same; continue; }
    let found = [{ path: '', by: Infinity }];
    try { found = differences(reply.answer, JSON.parse(expected)); } catch { /* the command line refused it */ }
    if (found.every(({ by }) => by < 1e-12)) ++tally.last_digits;
    else wrong.push({ options, expected: expected.slice(0, 200), differences: found.filter(({ by }) => by >= 1e-12).slice(0, 5) });
  }
  took.sort((a, b) => a - b);
  const at = (part) => `${took[Math.floor(part * (took.length - 1))].toFixed(1)} ms`;
  console.log(`# ${JSON.stringify(tally)}; a prediction in WebAssembly: median ${at(0.5)}, p95 ${at(0.95)}, slowest ${at(1)}`);
  assert.deepEqual(wrong.slice(0, 5), []);
  assert.ok(tally.predictions > points / 3, `${tally.predictions} predictions are too few`);
  await close(page);
});

test('a slider moves the answer, the number, the command and the address', async () => {
  const page = await open();
  const sentence = () => page.textContent('#answer-a .lead');
  const before_it = await sentence();
  await page.focus('#a-q_len-slider');
  const latency = [];
  const thread = await page.context().newCDPSession(page); // processor time of the page's main thread
  await thread.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => (await thread.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
  const busy_before = await busy();
  for (let i = 0; i < 20; ++i) {
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(60);
    await answered(page);
    latency.push(await page.evaluate(() => window.tilescope_page.latency.all));
  }
  const drawing = ((await busy()) - busy_before) / 20;
  latency.sort((a, b) => a - b);
  console.log(`# from a slider's move to the drawn answer: median ${latency[10].toFixed(1)} ms, slowest ${latency[19].toFixed(1)} ms; ${drawing.toFixed(1)} ms of the main thread's processor time`);
  const moved = await page.inputValue('#a-q_len');
  assert.notEqual(moved, '4096');
  assert.notEqual(await sentence(), before_it);
  await page.click('#json-a summary');
  assert.match(await page.textContent('#json-a .command'), new RegExp(`--q-len ${moved} `));
  await page.waitForFunction((value) => location.hash.includes(`a.q_len=${value}`), moved);
  const shown = JSON.parse(await page.textContent('#json-a .json'));
  assert.equal(shown.point.workload.q_len, Number(moved));
  await page.fill('#a-q_len', '512');
  await answered(page);
  await page.waitForFunction(() => location.hash.includes('a.q_len=512'));
  await page.click('#reset');
  await page.waitForFunction(() => document.querySelector('#a-q_len').value === '4096');
  await answered(page);
  assert.equal(await sentence(), before_it);
  await close(page);
});

test('an address opens two configurations with all that was asked, and JSON is saved', async () => {
  const page = await open();
  await page.check('#second');
  await page.selectOption('#b-hardware', 'l40s');
  await page.fill('#b-dtype', 'bf16');
  await page.dispatchEvent('#b-dtype', 'change');
  await page.click('#b-gpu-section > summary');
  await page.fill('[id="b-set-levels.hbm.bandwidth"]', '+50%');
  await page.dispatchEvent('[id="b-set-levels.hbm.bandwidth"]', 'change');
  await page.selectOption('#view-axis', 'batch');
  await page.fill('#view-to', '8');
  await page.dispatchEvent('#view-to', 'change');
  await settled(page);
  await page.waitForTimeout(300);
  const link = await page.evaluate(() => location.hash);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#json-b summary').then(() => page.click('#save-json-b'))]);
  const saved = readFileSync(await download.path(), 'utf8');
  const command = await page.textContent('#json-b .command');
  const options = command.replace(/^tilescope /, '').replace(/ --format json$/, '').split(' ');
  assert.deepEqual(differences(JSON.parse(saved), JSON.parse(await program(options))).filter(({ by }) => by >= 1e-12), []);
  const seen = async (shown) => [await shown.textContent('#answer-a .lead'), await shown.textContent('#answer-b .lead'), await shown.inputValue('[id="b-set-levels.hbm.bandwidth"]'), await shown.inputValue('#view-to'), await shown.textContent('#curve-title'), await shown.locator('#curve .mark-symbol path').count()];
  const other = await open(link);
  await settled(other);
  assert.deepEqual(await seen(other), await seen(page));
  await close(other);
  await close(page);
});

test('a profile is edited in the page; a mistake gets the message of the reader', async () => {
  const page = await open();
  const sentence = await page.textContent('#answer-a .lead');
  await page.click('#a-gpu-section > summary');
  await page.click('#a-profile-section > summary');
  const text = await page.inputValue('#a-profile');
  assert.match(text, /^id: h200_sxm_edited$/m);
  const use = () => page.click('#a-profile-section button >> nth=0');
  await page.fill('#a-profile', text.replace('value: 1980 MHz', 'value: 990 MHz').replace('value: 1830 MHz', 'value: 915 MHz'));
  await use();
  await answered(page);
  await page.waitForFunction((old) => document.querySelector('#answer-a .lead').textContent !== old, sentence);
  await page.fill('#a-profile', text.replace('value: 1980 MHz', 'value: 1980 MHertz'));
  await use();
  await page.waitForSelector('#answer-a .refusal:not([hidden])');
  assert.match(await page.textContent('#answer-a .refusal'), /h200_sxm_edited\.yaml:\d+:\d+: error: compute\.boost_clock/);
  await page.click('#a-profile-section button >> nth=1');
  await page.waitForFunction((old) => document.querySelector('#answer-a .lead').textContent === old, sentence);
  await close(page);
});

test('a tile is taken by keyboard, and marks are read out', async () => {
  const page = await open();
  await settled(page);
  await page.focus('#roofline-a');
  await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('#spoken'), /level: .*performance: /);
  await page.focus('#tiles-a');
  for (let i = 0; i < 2; ++i) await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('#spoken'), /tile: q=/);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#a-tile').value.startsWith('q='));
  await answered(page);
  await page.waitForFunction(() => document.querySelector('#answer-a .facts').textContent.includes(document.querySelector('#a-tile').value.split(',')[0]));
  await close(page);
});

for (const [name, options] of Object.entries({ light: {}, dark: { dark: true }, narrow: { width: 420 } }))
  test(`axe-core finds nothing in the page, ${name}`, async () => {
    const page = await open('#b&b.hardware=mi300x&b.how=schedule:flash2', options);
    await settled(page);
    await page.evaluate(() => { for (const folded of document.querySelectorAll('details')) folded.open = true; });
    assert.deepEqual(await violations(page), []);
    const pale = (await colours(page)).texts.filter(({ contrast }) => contrast < 4.5);
    assert.deepEqual(pale.slice(0, 5), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than the window');
    await close(page);
  });

test('the page is one file below 3 MB compressed', () => {
  const text = readFileSync(THINK_PAGE);
  console.log(`# ${(statSync(THINK_PAGE).size / 1e6).toFixed(2)} MB, compressed ${(gzipSync(text, { level: 9 }).length / 1e6).toFixed(2)} MB`);
  assert.ok(gzipSync(text).length < 3e6);
  assert.doesNotMatch(text.toString().replace(/<script[^]*?<\/script>/g, ''), /(src|href)="http/);
});
