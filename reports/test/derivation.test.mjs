// The page of `tilescope derive ... --format html` in headless Chromium. DERIVATION_PAGES names the pages, separated by
// ':'; what a label covers is what the browser says (getBBox), not what the layout believed.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { violations } from './chromium.mjs';

const files = (process.env.DERIVATION_PAGES ?? '').split(':').filter(Boolean);
const profile = mkdtempSync(join(tmpdir(), 'tilescope-derivation-'));
const sizes = [['desktop', 1280], ['phone', 390]];
let context;

before(async () => {
  assert.ok(files.length > 0 && files.every((file) => existsSync(file)), 'DERIVATION_PAGES must name pages that exist');
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args });
});
after(async () => {
  await context?.close();
  rmSync(profile, { recursive: true, force: true });
});

async function open(file, width, scheme = 'light') {
  const page = await context.newPage();
  page.trouble = [];
  page.on('console', (message) => page.trouble.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => page.trouble.push(`error: ${error.message}`));
  const address = pathToFileURL(file).href;
  page.on('request', (request) => {
    if (request.url() !== address && !request.url().startsWith('data:')) page.trouble.push(`request: ${request.url()}`);
  });
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme });
  await page.goto(address);
  return page;
}

// Per picture: its labels with their boxes in the picture's own units, pairs that overlap, and what leaves the view box.
const pictures = (page) =>
  page.evaluate(() => [...document.querySelectorAll('svg.napkin')].map((svg) => {
    const view = svg.viewBox.baseVal;
    const outside = (b) => b.x < view.x - 0.5 || b.y < view.y - 0.5 || b.x + b.width > view.x + view.width + 0.5 || b.y + b.height > view.y + view.height + 0.5;
    const texts = [...svg.querySelectorAll('text')].map((text) => ({ says: text.textContent, box: text.getBBox() }));
    const overlaps = [];
    for (let i = 0; i < texts.length; ++i)
      for (let j = i + 1; j < texts.length; ++j) {
        const [a, b] = [texts[i].box, texts[j].box];
        const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
        const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
        if (across > 0.5 && down > 0.5) overlaps.push(`${texts[i].says} | ${texts[j].says}`);
      }
    const escaped = [...svg.querySelectorAll('text, path, rect, circle')].filter((e) => outside(e.getBBox())).map((e) => e.outerHTML.slice(0, 120));
    const scale = svg.getBoundingClientRect().width / view.width;
    return { count: texts.length, wires: svg.querySelectorAll('path.w').length, overlaps, escaped, scale };
  }));

for (const file of files) {
  for (const [name, width] of sizes)
    test(`labels of ${basename(file)} do not overlap and nothing leaves the picture: ${name}`, async () => {
      const page = await open(file, width);
      const found = await pictures(page);
      assert.ok(found.length > 0, 'the page has no picture');
      for (const picture of found) {
        assert.ok(picture.count > 10 && picture.wires > 10, `${picture.count} labels, ${picture.wires} wires`);
        assert.deepEqual(picture.overlaps, []);
        assert.deepEqual(picture.escaped, []);
        assert.ok(picture.scale > 0.85 && picture.scale < 1.01, `drawn at ${picture.scale} of its size`); // legible: it scrolls, it does not shrink
      }
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      assert.deepEqual(page.trouble, []);
      await page.close();
    });

  test(`text of ${basename(file)} is legible in light and dark (contrast at least 4.5)`, async () => {
    for (const scheme of ['light', 'dark']) {
      const page = await open(file, 1280, scheme);
      const poor = await page.evaluate(() => {
        const parse = (css) => (css.match(/[\d.]+/g) ?? []).map(Number);
        const light = (rgb) => {
          const [x, y, z] = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
          return 0.2126 * x + 0.7152 * y + 0.0722 * z;
        };
        const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
        return [...document.querySelectorAll('svg.napkin text')].filter((text) => {
          const svg = text.ownerSVGElement;
          const paper = parse(getComputedStyle(svg).backgroundColor).slice(0, 3);
          const tint = svg.querySelector('rect.island'); // the frame is translucent: text may stand on paper or on its tint
          const over = tint ? parse(getComputedStyle(tint).fill).slice(0, 3).map((v, i) => 0.07 * v + 0.93 * paper[i]) : paper;
          const ink = parse(getComputedStyle(text).fill).slice(0, 3);
          return Math.min(contrast(ink, paper), contrast(ink, over)) < 4.5;
        }).map((text) => text.textContent);
      });
      assert.deepEqual(poor, [], scheme);
      await page.close();
    }
  });

  // Pages of one generator and one style: the dark and the narrow ones are looked at with the shortest and the longest of them.
  const every_style = file === files[0] || file === files.at(-1);
  for (const [name, width, scheme] of [['light', 1280, 'light'], ...(every_style ? [['dark', 1280, 'dark'], ['narrow', 420, 'light']] : [])])
    test(`axe-core finds nothing wrong with ${basename(file)}, ${name}`, async () => {
      const page = await open(file, width, scheme);
      assert.deepEqual(await violations(page), []);
      await page.close();
    });

  test(`${basename(file)} is one file that names no other resource and runs nothing`, () => {
    const page = readFileSync(file, 'utf8');
    assert.doesNotMatch(page, /(src|href)="(?!#|data:)/);
    assert.doesNotMatch(page, /<script|\son\w+=/);
  });
}

test('the page draws traffic over memory with a curve a schedule, and sets H*(M) as mathematics', async () => {
  const page = await open(files[0], 1280);
  const found = await page.evaluate(() => ({
    curves: [...document.querySelectorAll('svg.plot path title')].map((t) => t.textContent),
    labels: [...document.querySelectorAll('svg.plot text')].map((t) => t.textContent),
    laws: [...document.querySelectorAll('math')].map((m) => m.getBoundingClientRect().height),
  }));
  for (const name of files[0].includes('backward') ? ['compulsory'] : ['flash2', 'flash1', 'standard', 'compulsory']) {
    assert.ok(found.curves.includes(name), `no curve of ${name}`);
    assert.ok(found.labels.includes(name), `no label of ${name}`);
  }
  assert.ok(found.laws.length > 0 && found.laws.every((height) => height > 8), found.laws.join());
  assert.deepEqual(page.trouble, []);
  await page.close();
});
