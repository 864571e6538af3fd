// Writes everything render_html() needs into one folder: node bundle.mjs OUT_DIR
//   bundle.js   Vega, Vega-Lite and vega-embed in one script, with the licences of all that is inside
//   bundle.txt  the same compressed (gzip, base64), as it stands in a page: a third of the bytes
//   page.html, page.css, page.js, family.html, family.css   copied from assets/
import { build } from 'esbuild';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node bundle.mjs OUT_DIR');
  process.exit(2);
}

// Vega registers every transform it has. The page draws no maps, trees, forces or regressions; without those packages it
// is 130 KB smaller. A left-out package keeps the names that it exports, so that imports still resolve.
const unused = /^(vega-(force|hierarchy|voronoi|crossfilter|regression|wordcloud|label|geo|projection|themes)|d3-geo)$/;
const leave_out_unused = {
  name: 'leave-out-unused',
  setup(b) {
    b.onResolve({ filter: unused }, (args) => ({ path: args.path, namespace: 'unused' }));
    b.onLoad({ filter: /.*/, namespace: 'unused' }, async (args) => {
      const names = Object.keys(await import(args.path).catch(() => ({}))).filter((name) => name !== 'default');
      return { contents: names.length ? `${names.map((n) => `export const ${n} = undefined;`).join('\n')}` : 'export {}' };
    });
  },
};

const options = {
  stdin: {
    contents: `import embed from 'vega-embed'; window.vegaEmbed = embed;`,
    resolveDir: here,
  },
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  legalComments: 'none', // collected below, package by package, whether or not a source repeats them
  charset: 'ascii',
  plugins: [leave_out_unused],
};

// The packages whose code ended up in the bundle, with name, version and licence text.
function notices(metafile) {
  const used = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/);
    if (match) used.add(match[1]);
  }
  const by_text = new Map(); // licence text without its copyright line -> the packages under it
  for (const name of [...used].sort()) {
    const folder = join(here, 'node_modules', name);
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((f) => /^licen[sc]e/i.test(f));
    const text = file ? readFileSync(join(folder, file), 'utf8') : `${about.license} (no licence file in the package)`;
    const copyright = (text.match(/^.*copyright .*\d{4}.*$/gim) ?? []).map((line) => line.trim());
    const terms = copyright.reduce((rest, line) => rest.replace(line, ''), text).replace(/\s+/g, ' ').trim();
    const line = `${name} ${about.version}, ${about.license}${copyright.length ? `, ${copyright.join('; ')}` : ''}`;
    by_text.set(terms, [...(by_text.get(terms) ?? []), line]);
  }
  const blocks = [...by_text].map(([terms, names]) => `${names.join('\n')}\n${wrapped(terms)}`);
  return `/*\nThird-party software in this script\n\n${blocks.join('\n\n')}\n*/`.replace(/<\/script/gi, '<script');
}

function wrapped(text) {
  return text.replace(/\*\//g, '* /').replace(/(.{1,118})(\s+|$)/g, '$1\n').trimEnd();
}

mkdirSync(out, { recursive: true });
const probe = await build({ ...options, absWorkingDir: here, metafile: true, write: false });
await build({ ...options, banner: { js: notices(probe.metafile) }, outfile: join(out, 'bundle.js') });
writeFileSync(join(out, 'bundle.txt'), gzipSync(readFileSync(join(out, 'bundle.js')), { level: 9 }).toString('base64'));
for (const file of readdirSync(join(here, 'assets'))) cpSync(join(here, 'assets', file), join(out, file));
console.error(`report assets in ${out}`);
