// The family page in headless Chromium. RENDER_REPORT and REPORT_ASSETS say what to test (see reports/README.md);
// FAMILY_DATA and FAMILY_PAGE may name a data file and the page made of it, which then pass the same checks.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Browser, address_of, colours, numbers_of, violations } from './browser.mjs';

const subjects = [];
let browser;

before(async () => {
  subjects.push({ name: 'synthetic', data: numbers_of('family.json'), address: address_of('family.html') });
  if (process.env.FAMILY_PAGE)
    subjects.push({ name: 'real', data: JSON.parse(readFileSync(process.env.FAMILY_DATA, 'utf8')), address: pathToFileURL(process.env.FAMILY_PAGE).href });
  browser = await Browser.start();
});
after(() => browser?.stop());

async function open({ address }, options = {}) {
  const page = await browser.open(address, { ...options, script: false });
  await page.evaluate(() => {
    document.querySelectorAll('details').forEach((d) => { d.open = true; });
    const more = document.getElementById('family-more');
    if (more) more.checked = true;
  });
  return page;
}

const numbers = (page, selector) => page.evaluate((s) => [...document.querySelectorAll(s)].map((e) => [...e.querySelectorAll('data')].map((d) => Number(d.value))), selector);
const present = (list) => list.filter((value) => value !== null && value !== undefined);

// What each part of the page must say, in the order of reading.
const row_numbers = (row) => present([row.records, ...row.quantities.flatMap((q) => [q.predicted, q.measured, q.ratio, ...(q.judged ? [q.judged.worst, q.judged.n] : []),
  ...(q.not_judged ? [q.not_judged.worst, q.not_judged.n] : []), (q.judged ?? q.not_judged)?.median, q.outside > 0 ? q.outside : null]), row.launches.predicted, row.launches.measured]);

function step_numbers(ladder, i) {
  const step = ladder.steps[i], previous = ladder.steps[i - 1], gain = step.gain, clocks = step.clocks;
  const same_path = gain && !gain.path_changed;
  return present([step.variants > 1 ? step.variants : null,
    ...(ladder.kind === 'flop' ? [step.flop_per_second, step.seconds] : [step.seconds, step.kv_bytes, step.kv_bytes_per_second]),
    ...(gain ? [gain.factor, gain.predicted_factor, gain.bound_before_seconds_now, gain.bound_before_seconds, step.predicted_seconds, gain.nearness_factor, step.nearness, previous.nearness]
      : [step.predicted_seconds, step.nearness]),
    ...(same_path ? [] : [step.path_flop_per_second, previous?.path_flop_per_second]),
    ...(gain ? gain.changes.flatMap((c) => [c.before, c.after, c.factor, c.counted_factor]) : []),
    ...(clocks ? [clocks.sm_hz, clocks.power_w, clocks.power_limit_w, gain?.cycles_factor] : [])]);
}

test('every number on the page is a number of the data, and none is left out', async () => {
  for (const subject of subjects) {
    const page = await open(subject);
    const { data } = subject;
    assert.deepEqual(await numbers(page, 'table.family tbody tr'), data.kernels.map(row_numbers), subject.name);
    assert.deepEqual(await numbers(page, '.step'), data.ladders.flatMap((l) => l.steps.map((_, i) => step_numbers(l, i))), subject.name);
    const sum = (of) => data.kernels.flatMap((k) => k.quantities).reduce((total, q) => total + of(q), 0);
    assert.deepEqual((await numbers(page, '.lead'))[0], [data.kernels.length, data.kernels.filter((k) => k.third_party).length, data.points, sum((q) => q.judged?.n ?? 0),
      sum((q) => q.outside), data.ladders.length], subject.name);
    const all = await page.locator('data').count();
    const counted = (await numbers(page, 'table.family tbody tr, .step, .lead')).flat().length;
    assert.equal(all, counted, `${subject.name}: numbers outside the table, the ladders and the lead`);
    await page.close();
  }
});

// What a reader sees, turned back into a number: "33.62 MB", "÷16.0", "+1.23 %".
function read(text, { error, change }) {
  const prefix = { f: 1e-15, p: 1e-12, n: 1e-9, 'µ': 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
  const match = text.match(/^([×÷+−]?)(<? ?)([\d.,]+) ?(%|[fpnµmkMGTPE]?(?:B|s|Hz|W|FLOP)?(?:\/s)?)$/);
  assert.ok(match, `cannot read "${text}"`);
  const [, sign, less, digits, unit] = match;
  const size = Number(digits.replaceAll(',', ''));
  const last = 10 ** -(digits.split('.')[1]?.length ?? 0);
  if (less) return { low: error ? 1 - size / 100 : 0, high: error ? 1 + size / 100 : size / 100 };
  const scale = unit === '%' ? 0.01 : unit.length > 0 && unit[0] in prefix && !/^(m|s|Hz|W|B|FLOP)$/.test(unit) ? prefix[unit[0]] : unit === 'm' ? 1e-3 : 1;
  const ends = [size - last * 0.501, size + last * 0.501].map((v) => v * scale);
  const of = (v) => (error ? 1 + (sign === '−' ? -v : v) : change && sign === '×' ? 1 / v : v);
  const [a, b] = ends.map(of);
  return { low: Math.min(a, b), high: Math.max(a, b) };
}

test('the text of every number is its value, rounded', async () => {
  for (const subject of subjects) {
    const page = await open(subject);
    const shown = await page.evaluate(() => [...document.querySelectorAll('data')].map((d) => ({ text: d.textContent, value: Number(d.value), error: Boolean(d.closest('.e')), change: Boolean(d.closest('.changes')) })));
    assert.ok(shown.length > 100);
    for (const d of shown) {
      const { low, high } = read(d.text, d);
      assert.ok(d.value >= low - 1e-12 && d.value <= high + 1e-12, `${subject.name}: "${d.text}" is said of ${d.value}`);
    }
    await page.close();
  }
});

test('bars are as long as their numbers say', async () => {
  for (const subject of subjects) {
    const page = await open(subject);
    const ladders = await page.evaluate(() => [...document.querySelectorAll('.ladder')].map((l) => [...l.querySelectorAll('.step')].map((s) => {
      const width = (e) => e.getBoundingClientRect().width / e.parentElement.getBoundingClientRect().width;
      return { measured: width(s.querySelector('.bar.speed i')), predicted: width(s.querySelector('.bar.speed b')), size: s.querySelector('.bar.size i') && width(s.querySelector('.bar.size i')) };
    })));
    subject.data.ladders.forEach((ladder, n) => {
      const keys = ladder.kind === 'flop' ? ['flop_per_second', 'predicted_flop_per_second'] : ['seconds', 'predicted_seconds'];
      const longest = Math.max(...ladder.steps.flatMap((s) => keys.map((k) => s[k])));
      const most = Math.max(...ladder.steps.map((s) => s.kv_bytes));
      ladder.steps.forEach((step, i) => {
        const close = (a, b) => assert.ok(Math.abs(a - b) < 0.005, `${subject.name}: ${ladder.title}, ${step.kernel}: a bar of ${a} for ${b}`);
        close(ladders[n][i].measured, step[keys[0]] / longest);
        close(ladders[n][i].predicted, step[keys[1]] / longest);
        if (ladder.kind === 'bytes') close(ladders[n][i].size, step.kv_bytes / most);
      });
    });
    await page.close();
  }
});

test('the page is one file below 1 MiB without a script, and asks for nothing', async () => {
  for (const subject of subjects) {
    const file = fileURLToPath(subject.address);
    assert.ok(statSync(file).size < 2 ** 20);
    const text = readFileSync(file, 'utf8');
    assert.doesNotMatch(text, /<script|(src|href)="(?!#|data:)/);
    const page = await open(subject);
    assert.deepEqual(page.trouble, []);
    await page.close();
  }
});

test('third-party kernels are told apart by a word and a colour; a missing number says why', async () => {
  const page = await open(subjects[0]);
  const look = (selector) => page.evaluate((s) => getComputedStyle(document.querySelector(s)).backgroundColor, selector);
  assert.notEqual(await look('.step.third .bar i'), await look('.step:not(.third) .bar i'));
  assert.equal(await page.locator('.step.third .badge').count(), 1);
  assert.match(await page.locator('tr[data-kernel="reference"] td[data-quantity="tensor_flop"]').innerText(), /no matrix instructions/);
  await page.close();
});

for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390 }]])
  test(`text is legible (contrast at least 4.5), nothing overflows or lies over its neighbour: ${name}`, async () => {
    for (const subject of subjects) {
      const page = await open(subject, options);
      const { texts } = await colours(page);
      assert.deepEqual(texts.filter((t) => t.contrast < 4.5), [], subject.name);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), options.width ?? 1280, subject.name);
      const cut = await page.evaluate(() => [...document.querySelectorAll('table.family td, table.family tbody th, .who, .value, .gain, .why')]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).map((e) => e.innerText.slice(0, 60)));
      assert.deepEqual(cut, [], subject.name);
      await page.close();
    }
  });

test('print is black on white', async () => {
  const page = await open(subjects[0], { width: 760, dark: true });
  await page.emulateMedia({ media: 'print' });
  const { texts } = await colours(page);
  assert.deepEqual(texts.filter((t) => t.contrast < 4.5), []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  await page.close();
});

test('a family with nothing in it is a calm page, and hostile text stays text', async () => {
  const empty = await open({ address: address_of('family_empty.html') });
  assert.match(await empty.locator('#family').innerText(), /No kernel was measured/);
  await empty.close();
  const page = await open({ address: address_of('family_hostile.html') });
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(page.trouble, []);
  await page.close();
});

for (const [name, options] of [['dark', { dark: true }], ['narrow', { width: 420 }]])
  test(`axe-core finds nothing wrong with the page, ${name}`, async () => {
    const page = await open(subjects[0], options);
    assert.deepEqual(await violations(page), []);
    await page.close();
  });

test('the table has one line a kernel until all numbers are asked for', async () => {
  const page = await browser.open(subjects[0].address, { script: false });
  const rows = () => page.$$eval('table.family tbody tr', (list) => list.map((row) => row.getBoundingClientRect().height));
  assert.ok(Math.max(...(await rows())) < 80, (await rows()).join());
  await page.check('#family-more');
  assert.ok(Math.max(...(await rows())) > 80, (await rows()).join());
  assert.deepEqual(await violations(page), []);
  await page.close();
});
