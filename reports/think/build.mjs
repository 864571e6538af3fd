// Writes the page: node build.mjs WASM_FOLDER REPORT_ASSETS TILESCOPE OUT_FILE
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { data_files } from './predictor.mjs';

const here = dirname(fileURLToPath(import.meta.url)), top = join(here, '../..');
const [wasm, assets, program, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node build.mjs WASM_FOLDER REPORT_ASSETS TILESCOPE OUT_FILE');
  process.exit(2);
}
const run = (...options) => execFileSync(program, options, { encoding: 'utf8', maxBuffer: 1 << 26 });
const list = (what) => JSON.parse(run('list', what, '--format', 'json'));
const packed = (text) => gzipSync(text, { level: 9 }).toString('base64');
const bundled = async (file, options = {}) => (await build({ entryPoints: [join(here, file)], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022', charset: 'ascii', ...options })).outputFiles[0].text;

const formats = run('help', 'predict').match(/--dtype VALUE\s+(.*?), short/s)[1].trim().split(/\s+/);
const catalogue = { gpus: list('gpus'), kernels: list('kernels'), schedules: list('schedules'), workloads: list('workloads'), formats };
const predictor = {
  wasm: readFileSync(join(wasm, 'tilescope_wasm.wasm')).toString('base64'),
  worker: `${readFileSync(join(wasm, 'tilescope_wasm.js'), 'utf8')}\n${await bundled('worker.mjs')}`,
  files: data_files(top),
  catalogue,
};
const parts = {
  css: readFileSync(join(assets, 'page.css'), 'utf8') + readFileSync(join(here, 'think.css'), 'utf8'),
  version: run('--version').trim().split(/\s+/)[1],
  predictor: packed(JSON.stringify(predictor)),
  bundle: readFileSync(join(assets, 'bundle.txt'), 'utf8'),
  script: `${readFileSync(join(assets, 'chart.js'), 'utf8')}\n${await bundled('page.mjs')}`.replaceAll('</script', '<\\/script'),
};
// The head of the report page, whose scripts may also start the module and a worker.
const head = readFileSync(join(assets, 'page.html'), 'utf8').split('<body>')[0]
  .replace("script-src 'unsafe-inline'", "script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:")
  .replace('{{title}}', 'tilescope: a page to think on');
const page = readFileSync(join(here, 'think.html'), 'utf8').replace('{{head}}', () => head).replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
writeFileSync(`${out}.tmp`, page);
renameSync(`${out}.tmp`, out);
const size = (text) => `${(text.length / 1e6).toFixed(2)} MB`;
console.error(`${out}: ${size(page)}, ${size(gzipSync(page, { level: 9 }))} compressed`);
