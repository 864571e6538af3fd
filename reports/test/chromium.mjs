// A headless Chromium, and what a page may not do.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const folder = mkdtempSync(join(tmpdir(), 'tilescope-page-')); // for the files of the tests

let shared; // one Chromium for the test files that a process runs
let users = 0;

export class Browser {
  static start() {
    ++users;
    return (shared ??= Browser.launch());
  }

  static async launch() {
    const browser = new Browser();
    const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
    browser.profile = join(folder, 'profile'); // fresh: no cache, no extension, no history
    browser.context = await chromium.launchPersistentContext(browser.profile, { executablePath, headless: true, args, acceptDownloads: true });
    return browser;
  }

  // A page that is fully drawn, with everything that it said or asked for collected in `page.trouble`.
  async open(address, { width = 1280, height = 900, dark = false, script = true } = {}) {
    const page = await this.context.newPage();
    page.trouble = [];
    page.on('console', (message) => page.trouble.push(`console ${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => page.trouble.push(`error: ${error.message}`));
    page.on('request', (request) => {
      if (request.url() !== address.split('#')[0] && !/^(blob|data):/.test(request.url())) page.trouble.push(`request: ${request.url()}`);
    });
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    await page.goto(address);
    if (script) await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', null, { timeout: 60000 });
    return page;
  }

  // The same with every section open and every chart drawn.
  async open_all(address, options = {}) {
    const page = await this.open(address, options);
    await page.evaluate(() => {
      for (const folded of document.querySelectorAll('main details')) folded.open = true;
      window.dispatchEvent(new Event('beforeprint'));
    });
    await page.waitForFunction(() => document.documentElement.dataset.drawn, null, { timeout: 30000 });
    return page;
  }

  async stop() {
    if (--users > 0) return;
    await this.context.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

// Every distinct colour in which visible text stands, with its contrast against what is behind it (WCAG 2), and every
// colour of a chart's marks. Text that repeats the paper's colour is the halo of a label and is left out.
export function colours(page) {
  return page.evaluate(() => {
    const parse = (css) => (css.match(/[\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const behind = (element) => {
      for (let e = element; e; e = e.parentElement) {
        const colour = parse(getComputedStyle(e).backgroundColor);
        if (colour.length === 3 || colour[3] > 0) return colour;
      }
      return [255, 255, 255];
    };
    const texts = [];
    const marks = new Set();
    for (const element of document.body.querySelectorAll('*')) {
      if (!element.checkVisibility({ visibilityProperty: true }) || ['SCRIPT', 'STYLE', 'OPTION'].includes(element.tagName)) continue;
      const style = getComputedStyle(element);
      const in_chart = element instanceof SVGElement;
      const says = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      const colour = parse(in_chart ? style.fill : style.color);
      if (in_chart && ['path', 'line', 'text', 'circle', 'rect'].includes(element.tagName))
        for (const paint of [style.fill, style.stroke]) if (paint !== 'none' && !/, 0\)$/.test(paint) && !paint.includes('url')) marks.add(paint);
      if (!says) continue;
      const paper = behind(element);
      if (in_chart && colour.join() === paper.slice(0, 3).join()) continue;
      texts.push({ text: element.textContent.trim().slice(0, 40), contrast: contrast(colour, paper) });
    }
    return { texts, marks: [...marks].map(parse) };
  });
}

// What axe-core finds wrong: contrast, labels, roles, headings, landmarks. Its script is run by the browser's own
// protocol, because the page's policy forbids foreign ones.
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export async function violations(page) {
  await page.bringToFront(); // a page behind another one waits a second for each of its timers
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
}
