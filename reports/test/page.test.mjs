// The page in headless Chromium. RENDER_REPORT and REPORT_ASSETS say what to test; see reports/README.md.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Browser, address_of, colours, numbers_of, violations, written } from './browser.mjs';

const charts = ['roofline-0', 'roofline-1', 'time', 'gain', 'traffic-hbm', 'traffic-l2', 'traffic-smem', 'traffic-register', 'errors', 'tiles', 'length-0', 'length-1',
  'residual-hbm_read_bytes', 'residual-busy_cycles', 'residual-seconds', 'clock', 'power'];
let browser;
let address;
let drawn; // one page for all tests that only look
let used; // one for those of the controls, of which each has a chart or table of its own

before(async () => {
  address = address_of('report.html');
  browser = await Browser.start();
});
after(() => browser?.stop());
const drawn_page = async () => (drawn ??= await browser.open_all(address));
const used_page = async () => {
  used ??= await browser.open_all(address);
  await used.bringToFront(); // a page behind another one draws a frame a second
  return used;
};

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

test('pages of a hundred points are one file below 600 kB that names no other resource', () => {
  for (const name of ['report.html', 'predicted.html']) {
    const text = readFileSync(fileURLToPath(address_of(name)), 'utf8');
    assert.ok(statSync(fileURLToPath(address_of(name))).size < 600e3, `${name}: ${statSync(fileURLToPath(address_of(name))).size} bytes`);
    assert.doesNotMatch(text.replace(/<script[\s\S]*?<\/script>/g, ''), /(src|href)="(?!#|data:)/);
  }
});

test('a page of a hundred predictions paints within a second, and draws a chart when it is scrolled to', async () => {
  const page = await browser.open(address_of('predicted.html'), { height: 700 });
  await page.bringToFront();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  assert.ok(paint < 1000, `first paint after ${paint} ms`);
  const drawn = (id) => page.locator(`#${id} svg`).count();
  assert.equal(await drawn('roofline-0'), 1);
  assert.equal(await drawn('traffic-register'), 0);
  await page.locator('#traffic-register').scrollIntoViewIfNeeded();
  await page.waitForSelector('#traffic-register svg');
  assert.match(await page.locator('#answer').innerText(), /100 points are bound by .*The shortest time: .* takes .* on NVIDIA .*1 of the points asked for has no time/s);
  assert.equal(await page.locator('#answer .panels h3').count(), 4); // two GPUs, two formats
  assert.equal(await page.locator('#errors-section').count(), 0); // nothing was measured: no empty section
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test('the roofline has a hollow mark a point and level, a filled one if measured, and the controls choose among them', async () => {
  const page = await used_page();
  const marks = async () => {
    let predicted = 0, measured = 0;
    for (const id of ['roofline-0', 'roofline-1'])
      for (const path of await page.$$eval(`#${id} .mark-symbol path`, (list) => list.map((m) => ({ hollow: !m.getAttribute('fill')?.startsWith('var('), more: m.__data__.datum.more ?? 0, ring: m.getAttribute('stroke') === 'var(--ink)' })))) {
        if (path.ring) continue;
        if (path.hollow) predicted += 1 + path.more;
        else measured += 1 + path.more;
      }
    return [predicted, measured];
  };
  const { points } = numbers_of('report.json');
  const expected = (chosen, levels) => [chosen.length * levels, chosen.filter((p) => p.measured).length * levels];
  assert.deepEqual(await marks(), expected(points, 3));
  await choose(page, 'roofline', 'kernel', 'reference');
  assert.deepEqual(await marks(), expected(points.filter((p) => p.kernel === 'reference'), 3));
  await choose(page, 'roofline', 'level', 'l2');
  assert.deepEqual(await marks(), expected(points.filter((p) => p.kernel === 'reference'), 1));
  assert.match(page.url(), /#answer\?rooflinelevel=l2&rooflinekernel=reference$/);
  await choose(page, 'roofline', 'level', 'all');
  await choose(page, 'roofline', 'kernel', 'all');
  assert.deepEqual(page.trouble, []);
});

test('marks are reached by keyboard, Enter chooses the point, the address keeps it, and charts are saved as pictures', async () => {
  const page = await browser.open(address_of('predicted.html'));
  await page.bringToFront();
  await page.focus('#roofline-0');
  for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowRight');
  assert.match(await page.locator('#spoken').innerText(), /point: .*tile: q=.*time predicted: /s);
  await page.keyboard.press('Enter');
  const chosen = await page.locator('select[data-signal="point"]').inputValue();
  assert.match(page.url(), new RegExp(`#answer\\?point=${chosen}$`));
  const again = await browser.open(page.url());
  assert.equal(await again.locator('select[data-signal="point"]').inputValue(), chosen);
  assert.deepEqual(again.trouble, []);
  await again.close();
  await page.bringToFront();
  for (const kind of ['SVG', 'PNG']) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.save').first().getByText(kind).click()]);
    assert.equal(download.suggestedFilename(), `roofline-0.${kind.toLowerCase()}`);
    const bytes = readFileSync(await download.path());
    assert.ok(bytes.length > 5000, `${kind}: ${bytes.length} bytes`);
    if (kind === 'SVG') assert.doesNotMatch(bytes.toString('utf8'), /(fill|stroke)="var/);
  }
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test('pointing at a mark shows its numbers, in every chart', async () => {
  const page = await drawn_page();
  for (const [id, mark, words] of [
    ['roofline-0', '.mark-symbol path', /point.*tile\s*q=\d+.*time predicted\s*[\d.]+ [mµ]?s.*FLOP per byte.*[\d.,]+.*performance.*[\d.]+[GTP]?FLOP\/s/s],
    ['time', '.mark-rect path', /part\s*launches · 10 %/],
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
  await choose(page, '', 'point', { label: unmeasured.label });
  assert.equal(await visible_marks(page, 'traffic-hbm'), 2); // read and write predicted, nothing measured
  assert.match(await page.locator('#traffic-hbm').innerText(), /not measured/);
assert.match(await page.locator('#point-facts').innerText(), /tile q=.* · predicted .*s, bound by .* · time not measured/);
});

test('a row outside tolerance is among the checks and a cross in the error chart', async () => {
  const page = await drawn_page();
  assert.match(await page.locator('main').innerText(), /outside tolerance\s*1\s[\s\S]*Worst checked number:[\s\S]*−6\d\.\d %/);
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

test('axe-core finds nothing wrong with contrast, labels and structure: a page of records, and one of predictions in the dark', async () => {
  assert.deepEqual(await violations(await drawn_page()), []);
  const page = await browser.open(address_of('predicted.html'), { dark: true });
  assert.deepEqual(await violations(page), []);
  await page.close();
});

test('axe-core finds nothing wrong with a page of records at 420 pixels', async () => {
  const page = await browser.open_all(address_of('report.html'), { width: 420 });
  assert.deepEqual(await violations(page), []);
  await page.close();
});

test('dark mode switches page and charts at once, without drawing again', async () => {
  const page = await drawn_page();
  const look = () => page.evaluate(() => ({
    page: getComputedStyle(document.body).backgroundColor,
    mark: getComputedStyle(document.querySelector('#roofline-0 .mark-symbol path')).stroke,
  }));
  const day = await look();
  await page.emulateMedia({ colorScheme: 'dark' });
  const night = await look();
  await page.emulateMedia({ colorScheme: 'light' });
  assert.notEqual(day.page, night.page);
  assert.notEqual(day.mark, night.mark);
});

test('a narrow page that is drawn in the dark is legible; its print is black on white: no colour, shapes and words instead', async () => {
  const page = await browser.open_all(address, { width: 400, dark: true });
  await check_legible(page, 400);
  await page.setViewportSize({ width: 760, height: 900 });
  await page.emulateMedia({ media: 'print' });
  const { texts, marks } = await colours(page);
  assert.deepEqual(texts.filter((t) => t.contrast < 4.5), []);
  assert.ok(marks.length > 5);
  assert.deepEqual(marks.filter(([r, g, b]) => Math.max(r, g, b) - Math.min(r, g, b) > 4), []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.locator('#numbers').isVisible(), false);
  const shapes = await page.evaluate(() => new Set([...document.querySelectorAll('#roofline-0 .mark-symbol path')].map((p) => p.getAttribute('d').replace(/[\d.-]+/g, '#'))).size);
  assert.equal(shapes, 3); // one a level
  await page.close();
});

test('a report with nothing in it is a calm page, not an error', async () => {
  const page = await browser.open(address_of('report_empty.html'));
  assert.match(await page.locator('#answer').innerText(), /there are no points yet/);
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test('hostile text in the data stays text', async () => {
  const page = await browser.open_all(address_of('report_hostile.html'));
  await hover_text(page, page.locator('#errors .mark-symbol path').first());
  assert.equal(await page.locator('img').count(), 0);
  assert.ok((await page.title()).startsWith('</script><img'));
  assert.deepEqual(page.trouble, []);
  await page.close();
});
