// The predictor in node: for the build of the page and its tests. In the page worker.js does the same.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// Steps are unpacked here: the page has no zstd. Texts that are alike take less room, so registers get few names. A
// simulated SM asks which bank a register lies in (even, odd), and whether the instruction before read the same one in the
// same place (src/simulate/sm/operation.h); of code without asynchronous products it asks neither.
const unpacked = (file) => execFileSync('zstd', ['-dcq', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
const one_name = (text) => text.replace(/\b(U?R)\d+\b/g, '$11').replace(/\+-?0x[0-9a-f]+\]/g, ']');
const alike = (program) => {
  if (!/[HQ]GMMA/.test(program)) return program.replace(/^\d.*$/gm, one_name);
  let before = [];
  return program.replace(/^.*$/gm, (line) => {
    const [, front, operands] = line.match(/^((?:\d+ ){4,5}(?:@\S+ )?\S+)(.*)$/) ?? [];
    if (front === undefined) return before = [], line;
    const now = [];
    const named = operands.split(',').map((operand, place) => {
      const [, sign, number, rest] = operand.match(/^([ \-|~]*)R(\d+)(.*)$/) ?? [];
      if (number === undefined || place > 3) return one_name(operand);
      const bank = number % 2, last = before[place];
      const name = last?.number === number ? last.name : last?.name === 2 + bank ? 4 + bank : 2 + bank;
      if (place > 0) now[place] = { number, name };
      return sign + 'R' + name + rest;
    });
    before = now;
    return front + named.join(',');
  });
};
const text_of = (file) => file.endsWith('.zst') ? unpacked(file).split(/^(?=# )/m).map(alike).join('') : readFileSync(file, 'utf8');

// The files that predictions read, by path below the project.
export function data_files(top) {
  const files = {};
  const take = (folder, wanted) => {
    for (const entry of readdirSync(join(top, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) take(path, wanted);
      else if (wanted.test(entry.name)) files[path] = text_of(join(top, path));
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
