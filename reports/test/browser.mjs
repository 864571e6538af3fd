// What the report pages' tests share: pages rendered by the real code, and the browser.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { folder } from './chromium.mjs';

export { Browser, colours, violations } from './chromium.mjs';

const needed = (name, meaning) => {
  const value = process.env[name];
  if (!value || !existsSync(value)) throw new Error(`${name} must name ${meaning}; see reports/README.md`);
  return value;
};
const renderer = needed('RENDER_REPORT', 'the render_report program');
const assets = needed('REPORT_ASSETS', 'the folder written by reports/build.sh');

execFileSync(renderer, [assets, folder], { stdio: ['ignore', 'inherit', 'inherit'] });

// A file that render_report wrote: a page's address, a file's path, the numbers behind a page.
export const written = (name) => join(folder, name);
export const address_of = (name) => pathToFileURL(written(name)).href;
export const numbers_of = (name) => JSON.parse(readFileSync(written(name), 'utf8'));
