// SYNTHETIC TEST DATA for the family page (tilescope/family/1): made-up numbers, no GPU was involved.
let state = 4711;
const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;

const columns = [['tensor_flop', 'tensor FLOP'], ['l2_read_bytes', 'L2 → SM'], ['l2_write_bytes', 'SM → L2'],
  ['smem_operand_bytes', 'shared-memory operands'], ['hbm_read_bytes', 'HBM read'], ['hbm_write_bytes', 'HBM write']];

function row(kernel, { third_party = false, absent = {} } = {}) {
  const quantities = columns.map(([quantity, title], i) => {
    const predicted = Math.round(10 ** (6 + 6 * random()));
    const measured = absent[quantity] ? null : Math.round(predicted * (1 + (random() - 0.5) * 0.02));
    return { quantity, title, predicted, measured, ratio: measured ? predicted / measured : null, absent: absent[quantity] ?? '',
      judged: { n: 3 + i, median: random() / 100, worst: i === 4 ? null : random() / 20 }, not_judged: i === 5 ? { n: 2, median: 0.2, worst: 0.61 } : null, outside: i === 3 ? 1 : 0 };
  });
  return { kernel, summary: `${kernel}: what the descriptor says of it`, third_party, schedule: 'flash2', pass: 'forward', records: 7, point: `${kernel}-id`,
    implementation: 'fp16 128x64 8w', workload: 'd128 N4096', launches: { predicted: 2, measured: 2, names: ['partial', 'combine'] }, quantities };
}

function ladder(title, kind, kernels) {
  const steps = kernels.map(([kernel, third_party], i) => {
    const seconds = 3e-3 / 1.7 ** i * (1 + 0.1 * random());
    const predicted_seconds = seconds * (0.3 + 0.6 * random());
    const kv_bytes = Math.round(2 ** 30 / (1 + i));
    return { kernel, summary: `${kernel} in one line`, third_party, implementation: 'fp16,kv=int4:g32:b2 128x64 8w s2', point: `${kernel}-id`, variants: i + 1, seconds, predicted_seconds,
      bound_by: i ? 'tensor' : 'hbm', nearness: predicted_seconds / seconds, flop_per_second: 1e12 / seconds, predicted_flop_per_second: 1e12 / predicted_seconds,
      kv_bytes, kv_bytes_per_second: kv_bytes / seconds, path: i ? 'wgmma' : 'fma', path_flop_per_second: i ? 9.89e14 : null,
      clocks: i === 2 ? null : { sm_hz: 1.98e9 - i * 1e8, power_w: 300 + 57.3 * i, power_limit_w: 700, throttle: i === 1 ? ['sw_power_cap'] : [] }, gain: null };
  });
  for (let i = 1; i < steps.length; ++i) {
    const [a, b] = [steps[i - 1], steps[i]];
    const factor = a.seconds / b.seconds, predicted_factor = a.predicted_seconds / b.predicted_seconds;
    const change = (quantity, title, before, after, counted) => ({ quantity, title, before, after, factor: before && after ? before / after : null,
      counted_before: counted ? before * 1.01 : null, counted_after: counted ? after * 0.99 : null, counted_factor: counted ? (before * 1.01) / (after * 0.99) : null });
    b.gain = { factor, predicted_factor, nearness_factor: factor / predicted_factor, cycles_factor: a.clocks && b.clocks ? factor * a.clocks.sm_hz / b.clocks.sm_hz : null,
      bound_before: a.bound_by, bound_before_seconds: a.predicted_seconds, bound_before_seconds_now: a.predicted_seconds / 7, path_changed: i === 1,
      changes: [change('hbm_bytes', 'HBM bytes', 5.6e8, 3.3e7, true), change('tensor_flop', 'tensor FLOP', i === 1 ? null : 8.1e12, 8.6e12, false), change('xu', 'XU operations', 3.1e7, 6.9e7, true)] };
  }
  return { title, pass: 'forward', kind, model_flop: 1e12, fits_l2: kind === 'bytes', steps };
}

export function family_fixture() {
  state = 4711;
  const kernels = [row('fused_mma'), row('fused_wgmma'), row('reference', { absent: { tensor_flop: 'no matrix instructions: products run as FMA' } }), row('pytorch_flash2', { third_party: true })];
  return {
    schema: 'tilescope/family/1', title: 'The kernel family on H200: SYNTHETIC TEST DATA', generated: '2026-11-20', revision: 'test',
    hardware: { id: 'h200', name: 'NVIDIA H200', chip: 'GH100' }, points: 28, kernels,
    ladders: [ladder('Forward, head_dim 128', 'flop', [['reference', false], ['fused_mma', false], ['pytorch_flash2', true], ['fused_wgmma', false]]),
      ladder('Forward, head_dim 128, 1 query, 8192 keys', 'bytes', [['split_kv', false], ['split_kv', false]]),
      ladder('Forward, head_dim 64', 'flop', [['reference', false], ['fused_mma', false]])],
  };
}
