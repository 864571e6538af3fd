// The page in headless Chromium. RENDER_REPORT and REPORT_ASSETS say what to test; see reports/README.md.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Browser, address_of, colours, numbers_of, written } from './browser.mjs';

const charts = ['roofline', 'traffic-hbm', 'traffic-l2', 'traffic-smem', 'traffic-register', 'errors', 'tiles', 'length-0', 'length-1',
  'residual-hbm_read_bytes', 'residual-busy_cycles', 'residual-seconds', 'split', 'clock', 'power'];
let browser;
let address;
let drawn; // one page for all tests that only look
let used; // one for those of the controls, of which each has a chart or table of its own

before(async () => {
  address = address_of('report.html');
  browser = await Browser.start();
});
after(() => browser?.stop());
const drawn_page = async () => (drawn ??= await browser.open(address));
const used_page = async () => (used ??= await browser.open(address));

const visible_marks = (page, id) =>
  page.evaluate((chart) => [...document.querySelectorAll(`#${chart} .mark-symbol path, #${chart} .mark-rect path`)].filter((m) => {
    const box = m.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  }).length, id);

async function choose(page, chart_prefix, signal, value) {
  await page.selectOption(`select[data-signal="${signal}"][data-charts="${chart_prefix}"]`, value);
  await page.waitForTimeout(150);
}

// Points at the middle of an element and returns the text of the tooltip that appears.
async function hover_text(page, locator) {
  await page.bringToFront(); // a page behind another one draws a frame a second
  await locator.scrollIntoViewIfNeeded();
  const box = await locator.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForSelector('#vg-tooltip-element.visible', { timeout: 5000 });
  return page.locator('#vg-tooltip-element').innerText();
}

test('the page draws every chart, says nothing on the console and asks the network for nothing', async () => {
  const page = await drawn_page();
  for (const id of charts) assert.ok((await visible_marks(page, id)) > 0, `${id} has no marks`);
  assert.deepEqual(page.trouble, []);
});

test('the page is one file below 1 MiB that names no other resource', () => {
  const file = fileURLToPath(address);
  assert.ok(statSync(file).size < 2 ** 20, `${statSync(file).size} bytes`);
  const page = readFileSync(file, 'utf8').replace(/<script[\s\S]*?<\/script>/g, '');
  assert.doesNotMatch(page, /(src|href)="(?!#|data:)/);
});

test('the roofline has one filled mark a measured point and level, and the controls choose among them', async () => {
  const page = await used_page();
  const data = numbers_of('report.json');
  const fp16 = data.points.filter((p) => p.dtype === 'fp16');
  const expected = (points) => points.length * 3 + points.filter((p) => p.measured).length * 3;
  assert.equal(await visible_marks(page, 'roofline'), expected(fp16));
  await choose(page, 'roofline', 'kernel', 'reference');
  assert.equal(await visible_marks(page, 'roofline'), expected(fp16.filter((p) => p.kernel === 'reference')));
  await choose(page, 'roofline', 'level', 'l2');
  assert.equal(await visible_marks(page, 'roofline'), expected(fp16.filter((p) => p.kernel === 'reference')) / 3);
  await choose(page, 'roofline', 'dtype', 'bf16');
  assert.equal(await visible_marks(page, 'roofline'), 0); // reference was not run in bf16
  assert.deepEqual(page.trouble, []);
});

test('pointing at a mark shows its numbers, in every chart', async () => {
  const page = await drawn_page();
  for (const [id, mark, words] of [
    ['roofline', '.mark-symbol path', /point.*kernel.*FLOP per byte\s*[\d.,]+.*performance\s*[\d.]+ [GTP]?FLOP\/s/s],
    ['traffic-l2', '.mark-rect path', /value is\s*(predicted|measured).*bytes\s*[\d,]{7,}/s],
    ['errors', '.mark-symbol path', /predicted\s*[\d,]+.*measured\s*[\d,]+.*error.*tolerance/s],
  ]) {
    await page.mouse.move(2, 2);
    const text = await hover_text(page, page.locator(`#${id} ${mark}`).last());
    assert.match(text, words, id);
  }
  await page.mouse.move(2, 2);
  assert.match(await hover_text(page, page.locator('#tiles .mark-text text', { hasText: 'µs' }).first()), /query tile\s*\d+.*predicted time\s*[\d.]+ µs/s);
  await page.mouse.move(2, 2);
  assert.match(await hover_text(page, page.locator('#tiles .mark-text text', { hasText: '×' }).last()), /needs \d+ KiB, has \d+ KiB/);
  assert.deepEqual(page.trouble, []);
});

test('choosing a point changes its bars and says what was not measured', async () => {
  const page = await used_page();
  const unmeasured = numbers_of('report.json').points.find((p) => !p.measured);
  await choose(page, 'traffic-', 'point', { label: unmeasured.label });
  assert.equal(await visible_marks(page, 'traffic-hbm'), 2); // read and write predicted, nothing measured
  assert.match(await page.locator('#traffic-hbm').innerText(), /not measured/);
  assert.match(await page.locator('#point-facts').innerText(), /predicted .*s, bound by .* · time not measured/);
});

test('a row outside tolerance is in the headline and a cross in the error chart', async () => {
  const page = await drawn_page();
  assert.match(await page.locator('#headline').innerText(), /outside tolerance\s*1\s[\s\S]*Worst checked number:[\s\S]*−6\d\.\d %/);
  assert.equal(await page.locator('#errors .mark-symbol path[fill="var(--fail)"]').count(), 1);
});

test('residuals are one mark a record, by kernel and group of kernels', async () => {
  const page = await used_page();
  const { residuals } = numbers_of('report.json').pictures;
  const marks = (quantity) => page.locator(`#residual-${quantity} .mark-symbol path`).count();
  for (const quantity of ['seconds', 'busy_cycles']) {
    const counted = residuals.filter((r) => r[quantity]);
    await choose(page, 'residual-', 'kernel', 'all');
    assert.equal(await marks(quantity), counted.length);
    await choose(page, 'residual-', 'kernel', '*theirs');
    assert.equal(await marks(quantity), counted.filter((r) => r.third_party).length);
    await choose(page, 'residual-', 'kernel', 'reference');
    assert.equal(await marks(quantity), counted.filter((r) => r.kernel === 'reference').length);
  }
  const outside = residuals.filter((r) => r.kernel === 'reference' && Math.abs(r.seconds.predicted / r.seconds.measured - 1) > r.seconds.bar).length;
  assert.ok(outside > 0);
  assert.equal(await page.locator('#residual-seconds .mark-symbol path[fill="var(--paper)"]').count(), outside); // hollow
  await page.mouse.move(2, 2);
  assert.match(await hover_text(page, page.locator('#residual-seconds .mark-symbol path').last()), /kernel\s*reference.*predicted\s*[\d.]+ [mµ]?s.*measured.*error\s*[+−-]?[\d.]+%.*± 20\.00%/s);
  assert.deepEqual(page.trouble, []);
});

test('the time split has a row a record, as tall as its rows, whose parts are as long as the predicted time', async () => {
  const page = await used_page();
  const { splits } = numbers_of('report.json').pictures;
  const parts = () => page.$$eval('#split .mark-rect path', (marks) => marks.map((m) => m.getBBox()).map(({ x, y, width }) => ({ x, y: Math.round(y), width })));
  const height = async () => (await page.locator('#split svg').boundingBox()).height;
  const group = splits.filter((s) => s.longest && !s.third_party);
  const drawn = await parts();
  assert.equal(new Set(drawn.map((p) => p.y)).size, group.length);
  const tall = await height();
  await choose(page, 'split', 'kernel', 'reference');
  const own = splits.filter((s) => s.kernel === 'reference');
  const by_row = new Map();
  for (const part of await parts()) by_row.set(part.y, [...(by_row.get(part.y) ?? []), part]);
  const rows = [...by_row.entries()].sort(([a], [b]) => a - b).map(([, row]) => row);
  assert.equal(rows.length, own.length);
  assert.ok(Math.abs((await height() - tall) / (own.length - group.length) - 58) < 1, `${tall} ${await height()}`);
  const line = await page.$eval('#split .mark-rule.role-mark line', (m) => m.getBoundingClientRect().x);
  const origin = await page.$eval('#split .mark-rect path', (m) => m.getBoundingClientRect().x);
  rows.forEach((row, i) => { // the dashed line is the measured time
    assert.equal(row.length, 5);
    const length = row.reduce((total, part) => total + part.width, 0);
    assert.ok(Math.abs(length / (line - origin) - own[i].predicted / own[i].measured) < 0.02, `row ${i}: ${length} of ${line - origin}`);
  });
  assert.equal(await page.locator('#split .mark-symbol path').count(), own.length * 8);
  await page.mouse.move(2, 2);
  assert.match(await hover_text(page, page.locator('#split .mark-rect path').first()), /part\s*tensor cores.*60\.0% of the predicted time/s);
  assert.deepEqual(page.trouble, []);
});

test('clock and power show prediction, reading and limit of every kernel', async () => {
  const page = await drawn_page();
  const { clocks } = numbers_of('report.json').pictures;
  const words = async (id) => page.locator(`#${id}`).innerText();
  assert.match(await words('power'), /limit 700 W/);
  assert.match(await words('clock'), /highest 1\.98/);
  assert.equal(await visible_marks(page, 'clock'), clocks.length * 3); // range, ring, square
  assert.equal(await visible_marks(page, 'power'), clocks.length * 2 + clocks.filter((c) => c.reports_cap).length);
  assert.match(await page.locator('#clocks-section').innerText(), /of 20 records model and GPU agree in 15/);
});

test('the table sorts, filters and counts', async () => {
  const page = await used_page();
  const first = (n) => page.locator(`#numbers tbody tr:first-child td:nth-child(${n})`).innerText();
  await page.click('#numbers thead button:text("Error")');
  assert.equal(await page.locator('#numbers thead th[aria-sort="descending"]').count(), 1);
  assert.match(await first(5), /^−6\d\.\d %$/); // the largest error comes first
  await page.click('#numbers thead button:text("Error")');
  assert.equal(await page.locator('#numbers thead th[aria-sort="ascending"]').count(), 1);
  assert.equal(await first(5), '0 %');
  await page.selectOption('#filter-verdict', 'fail'); // one row, spoiled on purpose
  assert.match(await page.locator('#row-count').innerText(), /^1 of \d/);
  assert.match(await first(2), /HBM read/);
  await page.selectOption('#filter-verdict', '');
  await page.fill('#filter-text', 'reference N8192 time');
  assert.ok((await page.locator('#numbers tbody tr').count()) > 0);
  for (const text of await page.locator('#numbers tbody tr').allInnerTexts()) assert.match(text, /reference.*N8192.*time/s);
  await page.fill('#filter-text', 'no such thing');
  assert.match(await page.locator('#row-count').innerText(), /^0 of \d/);
});

test('the CSV download equals what the command line writes', async () => {
  const page = await drawn_page();
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download-csv')]);
  assert.equal(download.suggestedFilename(), 'tilescope-report.csv');
  const parse = (text) => text.trim().split('\n').map((line) => line.split(',').map((cell) => (cell !== '' && !Number.isNaN(Number(cell)) ? Number(cell) : cell)));
  const from_page = parse(readFileSync(await download.path(), 'utf8'));
  const from_tool = parse(readFileSync(written('report.csv'), 'utf8'));
  assert.ok(from_page.length > 500);
  assert.deepEqual(from_page, from_tool);
});

async function check_legible(page, width) {
  const { texts } = await colours(page);
  assert.ok(texts.length > 200);
  assert.deepEqual(texts.filter((t) => t.contrast < 4.5), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
}

test('text is legible (contrast at least 4.5) and nothing overflows: light, then dark', async () => {
  const page = await drawn_page();
  await check_legible(page, 1280);
  await page.emulateMedia({ colorScheme: 'dark' });
  await check_legible(page, 1280);
  await page.emulateMedia({ colorScheme: 'light' });
});

test('dark mode switches page and charts at once, without drawing again', async () => {
  const page = await drawn_page();
  const look = () => page.evaluate(() => ({
    page: getComputedStyle(document.body).backgroundColor,
    mark: getComputedStyle(document.querySelector('#roofline .mark-symbol path')).stroke,
  }));
  const day = await look();
  await page.emulateMedia({ colorScheme: 'dark' });
  const night = await look();
  await page.emulateMedia({ colorScheme: 'light' });
  assert.notEqual(day.page, night.page);
  assert.notEqual(day.mark, night.mark);
});

test('a narrow page that is drawn in the dark is legible; its print is black on white: no colour, shapes and words instead', async () => {
  const page = await browser.open(address, { width: 400, dark: true });
  await check_legible(page, 400);
  await page.setViewportSize({ width: 760, height: 900 });
  await page.emulateMedia({ media: 'print' });
  const { texts, marks } = await colours(page);
  assert.deepEqual(texts.filter((t) => t.contrast < 4.5), []);
  assert.ok(marks.length > 5);
  assert.deepEqual(marks.filter(([r, g, b]) => Math.max(r, g, b) - Math.min(r, g, b) > 4), []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.locator('#numbers').isVisible(), false);
  const shapes = await page.evaluate(() => new Set([...document.querySelectorAll('#roofline .mark-symbol path')].map((p) => p.getAttribute('d').replace(/[\d.-]+/g, '#'))).size);
  assert.equal(shapes, 3); // one a level
  await page.close();
});

test('a report with nothing in it is a calm page, not an error', async () => {
  const page = await browser.open(address_of('report_empty.html'));
  assert.match(await page.locator('#headline').innerText(), /there are no points yet/);
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test('hostile text in the data stays text', async () => {
  const page = await browser.open(address_of('report_hostile.html'));
  await hover_text(page, page.locator('#errors .mark-symbol path').first());
  assert.equal(await page.locator('img').count(), 0);
  assert.ok((await page.title()).startsWith('</script><img'));
  assert.deepEqual(page.trouble, []);
  await page.close();
});
