// Processor time of a prediction in WebAssembly, over random questions: node test/think_latency.mjs WASM_FOLDER TILESCOPE [POINTS]
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { data_files, start } from '../think/predictor.mjs';
import { random_options } from './think_points.mjs';

const [folder, program, points = '500'] = process.argv.slice(2);
if (!program) {
  console.error('usage: node think_latency.mjs WASM_FOLDER TILESCOPE [POINTS]');
  process.exit(2);
}
const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const list = (what) => JSON.parse(execFileSync(program, ['list', what, '--format', 'json']));
const formats = ['fp16', 'bf16', 'fp8_e4m3', 'int8', 'nvfp4'];
const catalogue = { gpus: list('gpus'), kernels: list('kernels'), schedules: list('schedules'), formats };
const call = await start(folder, data_files(top));
const took = { 'a tile given': [], 'the best tile searched': [], 'the best kernel searched': [] };
for (let i = 0; i < Number(points); ++i) {
  const options = random_options(catalogue);
  const before = process.cpuUsage();
  const reply = call('point', options);
  const { user, system } = process.cpuUsage(before);
  if (reply.startsWith('{"error"') || i < 20) continue; // the first ones compile
  const kind = options.some(([, value]) => value === 'auto') ? 'the best kernel searched' : options.some(([name]) => name === 'tile') ? 'a tile given' : 'the best tile searched';
  took[kind].push((user + system) / 1000);
}
for (const [kind, times] of Object.entries(took)) {
  times.sort((a, b) => a - b);
  const at = (part) => (times.length ? times[Math.floor(part * (times.length - 1))].toFixed(1) : '-');
  console.log(`${kind}: n = ${times.length}, median ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(1)} ms of processor time`);
}
