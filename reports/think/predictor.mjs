// The predictor in node: for the build of the page and its tests. In the page worker.js does the same.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// Steps are unpacked here: the page has no zstd. A simulated SM asks what an instruction reads, not from which register
// or address: all have one name, since texts that are alike take less room.
const unpacked = (file) => execFileSync('zstd', ['-dcq', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
const alike = (steps) => steps.replace(/^\d.*$/gm, (line) => line.replace(/\b(U?R)\d+\b/g, (_, kind) => `${kind}1`).replace(/\+-?0x[0-9a-f]+\]/g, ']'));
const text_of = (file) => file.endsWith('.zst') ? alike(unpacked(file)) : readFileSync(file, 'utf8');

// The files that predictions read, by path below the project. Machine code only of kernels whose steps are simulated:
// predictions of the others do not read theirs.
export function data_files(top) {
  const files = {};
  const code_of = (steps) => JSON.parse(readFileSync(join(top, steps.replace(/steps\.zst$/, 'code.json')), 'utf8'));
  const is_read = (path) => !path.endsWith('steps.zst') || code_of(path).simulated;
  const take = (folder, wanted) => {
    for (const entry of readdirSync(join(top, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) take(path, wanted);
      else if (wanted.test(entry.name) && is_read(path)) files[path] = text_of(join(top, path));
    }
  };
  take('hardware', /\.yaml$/);
  take('models', /\.(yaml|txt)$/);
  take('kernels', /(^|\.)(kernel\.yaml|code\.json|steps\.zst)$/);
  for (const name of ['errors', 'basis_errors', 'ideal_errors']) files[`validate/${name}.json`] = readFileSync(join(top, `validate/${name}.json`), 'utf8');
  return files;
}

// A function that takes a call's name and options and returns its reply as text.
export async function start(folder, files) {
  const create = createRequire(import.meta.url)(join(folder, 'tilescope_wasm.js'));
  const module = await create({ wasmBinary: readFileSync(join(folder, 'tilescope_wasm.wasm')) });
  const { calls } = await import('./calls.mjs');
  return calls(module, files);
}
