// SYNTHETIC TEST DATA. Writes a report input (tilescope/report/1) to the file named on the command line, for the tests
// of the page only: the "measured" numbers are made up by a fixed pseudo-random sequence and no GPU was involved.
//   node fixture.mjs OUT.json
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

let state = 12345;
const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
const near = (value, spread) => Math.round(value * (1 + (random() - 0.5) * 2 * spread));
const ceil = (a, b) => Math.ceil(a / b);

const roofs = [
  { level: 'hbm', bytes_per_second: 4.8e12, basis: 'datasheet' },
  { level: 'l2', bytes_per_second: 1.1e13, basis: 'microbenchmark' },
  { level: 'smem', bytes_per_second: 3.3e13, basis: 'derived from 128 B/clk/SM' },
];
const peaks = ['fp16', 'bf16'].flatMap((dtype) => [
  { dtype, path: 'tensor', flop_per_second: 9.894e14 },
  { dtype, path: 'mma.sync', flop_per_second: 6.596e14 },
]);

function prediction({ kernel, n, d, q, kv, causal, dtype }) {
  const heads = 32;
  const tile_rows = ceil(n, q);
  const share = causal ? 0.5 + q / (2 * n) : 1;
  const operand = heads * n * d * 2;
  const flop = Math.round(4 * heads * n * n * d * share);
  const fused = kernel === 'fused_mma';
  const scores = heads * n * n * 2;
  const traffic = [
    { level: 'hbm', read_bytes: fused ? 3 * operand : 3 * operand + 2 * scores, write_bytes: fused ? operand : operand + 2 * scores },
    { level: 'l2', read_bytes: Math.round(fused ? operand + 2 * operand * tile_rows * share : 3 * operand * ceil(n, 128) + 2 * scores), write_bytes: fused ? operand : operand + 2 * scores },
    { level: 'smem', read_bytes: Math.round(flop / (fused ? 42 : 21)), write_bytes: Math.round(flop / 90), operand_read_bytes: Math.round(flop / (fused ? 44 : 22)) },
    { level: 'register', read_bytes: Math.round(flop / 3), write_bytes: Math.round(flop / 6) },
  ];
  const resources = [['tensor', flop / (fused ? 6.596e14 : 4e14)], ...roofs.map((roof, i) => [roof.level, (traffic[i].read_bytes + traffic[i].write_bytes) / roof.bytes_per_second])];
  const [bound_by, seconds] = resources.reduce((a, b) => (b[1] > a[1] ? b : a));
  return {
    schema: 'tilescope/prediction/1',
    point: { hardware: 'h200', schedule: fused ? 'flash2' : 'standard', kernel, pass: 'forward', mask: causal ? 'causal' : 'none',
      workload: { batch: 1, heads_q: heads, heads_kv: heads, q_len: n, kv_len: n, d_qk: d, d_v: d }, dtypes: { q: dtype, k: dtype, v: dtype, o: dtype }, tile: { q, kv } },
    feasible: true,
    work: { tensor_flop: flop, model_flop: flop, xu: Math.round(heads * n * n * share) },
    traffic, compulsory_bytes: 4 * operand,
    terms: [], footprint: [],
    time: { seconds, sm_cycles: Math.round(seconds * 1.755e9), clock_hz: 1.755e9, bound_by, resources: resources.map(([name, s]) => ({ name, seconds: s })) },
  };
}

function measurement(p, spoiled) {
  const traffic = p.traffic.map((t) => {
    if (t.level === 'smem') return { level: t.level, operand_read_bytes: near(t.operand_read_bytes, 0.004) };
    const [reads, writes] = { hbm: [0.02, 0.025], l2: [0.001, 0.002], register: [0.2, 0.2] }[t.level];
    return { level: t.level, read_bytes: near(t.read_bytes, reads) * (spoiled && t.level === 'hbm' ? 3 : 1), write_bytes: near(t.write_bytes, writes) };
  });
  const seconds = p.time.seconds * (1.05 + random() * 0.5);
  return { traffic, work: { tensor_flop: p.work.tensor_flop, xu: near(p.work.xu * 1.03, 0.02) }, seconds, seconds_cold: seconds * 1.08, clock_hz: 1.7e9 + random() * 1e8 };
}

function rows_of(point) {
  const { prediction: p, measured: m } = point;
  if (!m) return [];
  const rows = [];
  const add = (quantity, level, predicted, measured, tolerance, reason) => {
    const ratio = predicted / measured;
    const verdict = tolerance === null ? 'info' : Math.abs(ratio - 1) <= tolerance ? 'pass' : 'fail';
    rows.push({ point: point.id, kernel: point.kernel, quantity, level, predicted, measured, ratio, tolerance, verdict, reason });
  };
  add('tensor_flop', '', p.work.tensor_flop, m.work.tensor_flop, 0, 'the counter counts what the tiles execute');
  for (const [i, level, reads, writes, reason] of [[0, 'hbm', 0.03, 0.03, 'caches and launch data'], [1, 'l2', 0.005, 0.01, 'exact on known copies'], [3, 'register', null, null, 'derived, not measured']]) {
    add('traffic read', level, p.traffic[i].read_bytes, m.traffic[i].read_bytes, reads, reason);
    add('traffic write', level, p.traffic[i].write_bytes, m.traffic[i].write_bytes, writes, reason);
  }
  add('operand_bytes read', 'smem', p.traffic[2].operand_read_bytes, m.traffic[2].operand_read_bytes, 0.02, 'exact on known work');
  add('xu', '', p.work.xu, m.work.xu, 0.1, 'conversions and per-row work run there too');
  add('seconds', '', p.time.seconds, m.seconds, null, 'no bar on time yet');
  return rows;
}

function summary_of(rows) {
  const groups = new Map();
  for (const row of rows) {
    const [quantity, direction] = row.quantity.split(' ');
    const key = JSON.stringify([row.kernel, [quantity, row.level, direction].filter(Boolean).join(' ')]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups].map(([key, members]) => {
    const errors = members.map((row) => Math.abs(row.ratio - 1)).sort((a, b) => a - b);
    const [kernel, quantity] = JSON.parse(key);
    const at = (share) => errors[Math.min(errors.length - 1, Math.floor(share * errors.length))];
    return { kernel, quantity, n: errors.length, failed: members.filter((row) => row.verdict === 'fail').length,
      mean: errors.reduce((a, b) => a + b, 0) / errors.length, median: at(0.5), p90: at(0.9), worst: errors.at(-1) };
  });
}

function tile_map() {
  const cells = [];
  for (const q of [64, 128, 192, 256])
    for (const kv of [32, 64, 96, 128, 192, 256]) {
      const needed = (q * 128 + 2 * 2 * kv * 128) * 2;
      if (needed > 232448) cells.push({ q, kv, feasible: false, level: 'smem', needed_bytes: needed, available_bytes: 232448 });
      else if (q * kv > 128 * 256) cells.push({ q, kv, feasible: false, level: 'register', needed_bytes: q * kv * 4 + q * 512, available_bytes: 262144 });
      else cells.push({ q, kv, feasible: true, seconds: 4.2e-4 * (1 + 40 / q + 12 / kv), l2_read_bytes: Math.round(33554432 * (1 + (2 * 4096) / q)) });
    }
  return { title: 'flash2 forward, d = 128, N = 4096, fp16: predicted time of each tile (synthetic test data)', kernel: 'fused_mma', hardware: 'h200', cells };
}

const derivation = {
  point: 'p0', title: 'fused_mma, tile 128 x 64, d = 128, N = 4096 (synthetic test data)',
  paragraphs: [
    'Each thread block holds one tile of 128 query rows of one head. It loads that tile once and then streams every tile of 64 keys and values past it.',
    'A key tile is loaded once by every query tile of its head: 4096 / 128 = 32 times in all. That is why K and V cross from L2 to the multiprocessors 32 times, while Q crosses once.',
    'From HBM each array is read once, because the keys and values of the running heads stay in L2 between the passes.',
  ],
  pseudocode: 'for head in heads:                     # grid\n  for q_tile in range(0, q_len, 128):  # grid\n    load Q[q_tile]                     # l2 -> smem, once\n    for kv_tile in range(0, kv_len, 64):\n      load K[kv_tile], V[kv_tile]      # l2 -> smem, 32 times\n      S = Q @ K.T                      # tensor cores\n      P, m, l = online_softmax(S, m, l)\n      O = rescale(O) + P @ V\n    store O / l                        # smem -> l2, once',
  terms: [
    { boundary: 'l2', array: 'Q', direction: 'read', bytes: 33554432, formula: 'heads * q_len * d * 2', because: ['held by the tile of the group loop over q'] },
    { boundary: 'l2', array: 'K', direction: 'read', bytes: 1073741824, formula: 'heads * kv_len * d * 2 * ceil(q_len / 128)', because: ['streamed by the loop over kv', 'repeated by the group loop over q: 32 tiles'] },
    { boundary: 'l2', array: 'V', direction: 'read', bytes: 1073741824, formula: 'heads * kv_len * d * 2 * ceil(q_len / 128)', because: ['streamed by the loop over kv', 'repeated by the group loop over q: 32 tiles'] },
    { boundary: 'l2', array: 'O', direction: 'write', bytes: 33554432, formula: 'heads * q_len * d * 2', because: ['stored once when the stream ends'] },
  ],
};

// The pictures of accuracy: 40 records of two kernels of ours and one of a library.
const pictured = ['fused_mma', 'reference', 'library_attention'];
function pictures() {
  const residuals = [];
  const splits = [];
  for (let i = 0; i < 40; i += 1) {
    const kernel = pictured[i % 3];
    const measured = 2e-5 * 1.2 ** i;
    const pair = (size, spread, bar) => ({ predicted: size * (1 + (random() - 0.6) * spread), measured: size, bar });
    const residual = { kernel, label: `fp16 128x64 d128 N${128 * (i + 1)}`, third_party: i % 3 === 2, regime: 'compute',
      seconds: pair(measured, 0.5, 0.2), hbm_read_bytes: pair(1e6 * (i + 1), 0.04, 0.02) };
    if (i % 4) residual.busy_cycles = pair(measured * 1.7e9, 0.4, 0.2);
    residuals.push(residual);
    if (i >= 28) {
      const predicted = residual.seconds.predicted;
      splits.push({ kernel, label: residual.label, third_party: residual.third_party, longest: i >= 37, measured, predicted,
        busiest: { tensor: predicted * 0.6, hbm: predicted * 0.1 }, waits: predicted * 0.2, idle: predicted * 0.06, launch: predicted * 0.04,
        units: { tensor: predicted * 0.6, smem: predicted * 0.5, xu: predicted * 0.3, fma: predicted * 0.2, alu: predicted * 0.1, issue: predicted * 0.25, l2: predicted * 0.35, hbm: predicted * 0.15 } });
    }
  }
  const bars = ['all', '*ours', '*theirs', ...pictured].flatMap((kernel) => ['seconds', 'hbm_read_bytes', 'busy_cycles'].map((quantity) => ({
    kernel, quantity, regime: pictured.includes(kernel) ? 'compute' : '', n: 13, low: quantity === 'seconds' ? 2e-5 : 1e6, high: quantity === 'seconds' ? 2e-2 : 4e7, p90: 0.15, stated: pictured.includes(kernel) })));
  const lengths = pictured.slice(0, 2).map((kernel) => ({ kernel, label: '16-bit 128x64 16 heads d128', third_party: false,
    points: [512, 1024, 4096, 16384].map((n) => ({ kv_len: n, compulsory: n * 16448, predicted: n * 16600, measured: near(n * 16700, 0.02), no_cache: n * 16448 * (1 + n / 512) })) }));
  const clocks = pictured.map((kernel, i) => ({ kernel, label: 'fp16 128x64 d128 N5120', third_party: i === 2, seconds: 1e-3, predicted_hz: 1.7e9 + 6e7 * i, nvml_hz: 1.8e9, low_hz: 1.5e9, high_hz: 1.65e9,
    predicted_watts: 700 - 40 * i, nvml_watts: 260, at_limit: i === 0, reports_cap: i < 2 }));
  return { records: 40, kernels: 3, experiments: ['synthetic'], residuals, bars, splits: splits.sort((a, b) => a.kernel.localeCompare(b.kernel)), lengths, clocks,
    power_limit: { both: 9, model_only: 2, gpu_only: 3, neither: 6 }, limits: { watts: 700, highest_hz: 1.98e9, tensor_hz: 1.83e9 } };
}

export function fixture() {
  state = 12345;
  const points = [];
  const add = (shape) => {
    const id = `p${points.length}`;
    const label = `${shape.kernel} ${shape.q}x${shape.kv} d${shape.d} N${shape.n}${shape.causal ? ' causal' : ''} ${shape.dtype}`;
    const p = prediction(shape);
    points.push({ id, kernel: shape.kernel, label, prediction: p, measured: points.length % 29 === 28 ? null : measurement(p, points.length === 7) });
  };
  for (const n of [512, 1024, 2048, 4096, 8192, 16384])
    for (const d of [64, 128]) for (const causal of [false, true]) for (const dtype of ['fp16', 'bf16']) add({ kernel: 'fused_mma', n, d, q: 128, kv: d === 64 ? 128 : 64, causal, dtype });
  for (const n of [128, 512, 1000, 2048, 4096, 8192]) for (const d of [64, 128]) add({ kernel: 'reference', n, d, q: 128, kv: 128, causal: false, dtype: 'fp16' });
  const rows = points.flatMap(rows_of);
  return {
    schema: 'tilescope/report/1', title: 'Attention on H200: SYNTHETIC TEST DATA', generated: '2026-11-20', revision: 'test',
    notes: ['These numbers are synthetic; no GPU was involved.'],
    hardware: { id: 'h200', name: 'NVIDIA H200', chip: 'GH100', roofs, peaks },
    points, comparison: { rows, summary: summary_of(rows) }, tile_map: tile_map(), derivation, pictures: pictures(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(process.argv[2], JSON.stringify(fixture()));
