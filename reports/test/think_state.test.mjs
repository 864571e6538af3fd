// The page to think on, what needs no browser and no WebAssembly: its address, its options, its rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compared_sentence } from '../think/sentences.mjs';
import { part_rows, roofline_frame, tile_cells } from '../think/pictures.mjs';
import { address_of, axis_values, command_of, first_choice, first_view, options_of, position_of, sizes, state_of, value_at, with_array } from '../think/state.mjs';

// Numbers that are the same at every run; TILESCOPE_SEED gives others.
let seed = Number(process.env.TILESCOPE_SEED ?? 1);
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2 ** 31; return Math.floor((seed / 2 ** 31) * n); };
const pick = (list) => list[random(list.length)];
const text = () => Array.from({ length: random(12) }, () => pick(['a', 'Z', '7', '=', '&', '#', '%', '.', ',', ':', '+', ' ', '\n', 'é', '"', "'"])).join('');
const choice = () => Object.fromEntries(Object.entries(first_choice).map(([key, value]) => [key, random(2) ? value : text()]));

test('an address holds every configuration and view', () => {
  for (let i = 0; i < 500; ++i) {
    const state = { a: choice(), b: random(2) ? choice() : null, view: Object.fromEntries(Object.entries(first_view).map(([key, value]) => [key, random(2) ? value : text()])) };
    assert.deepEqual(state_of(`#${address_of(state)}`), state);
  }
});

test('the first choice has an empty address, and a strange address opens it', () => {
  assert.equal(address_of({ a: first_choice, b: null, view: first_view }), '');
  for (const address of ['', '#', '#?', '#a.nothing=1', '#a.batch=%E0%A4%A', '#__proto__.x=1', '#c.batch=3', '#view.axis=x', '#a.__proto__=1']) {
    const { a, b, view } = state_of(address);
    assert.deepEqual({ a, b }, { a: first_choice, b: null }, address);
    assert.ok(Object.keys(view).length === Object.keys(first_view).length);
  }
});

test('options are those of the command line', () => {
  const asked = { ...first_choice, hardware: 'l40s', how: 'schedule:flash2', set: 'compute.units=+20%', mask: 'causal', arrays: 'kv=int8', tile: 'q=64,kv=32', kv_len: '8192' };
  assert.equal(command_of(asked), 'tilescope predict --hardware l40s --set compute.units=+20% --schedule flash2 --batch 1 --heads-q 16 --q-len 4096 --kv-len 8192 --head-dim 128 --mask causal --dtype fp16,kv=int8 --tile q=64,kv=32 --format json');
  assert.equal(options_of({ ...asked, yaml: 'id: x' }, '/edited/a/l40s.yaml')[0][1], '/edited/a/l40s.yaml');
  assert.match(command_of({ ...asked, mask: "a'b" }), /--mask 'a'\\''b'/);
  assert.equal(with_array('kv=int8,o=bf16', 'o', 'fp16'), 'kv=int8,o=fp16');
  assert.equal(with_array('kv=int8,o=bf16', 'kv', ''), 'o=bf16');
});

test('a slider reaches both ends and stays where a value puts it', () => {
  for (const size of sizes) {
    assert.equal(value_at(0, size), size.least);
    assert.equal(value_at(1000, size), size.most);
    for (let position = 0; position <= 1000; ++position) {
      const value = value_at(position, size);
      assert.ok(Number.isInteger(value) && value >= size.least && value <= size.most);
      assert.equal(value_at(position_of(value, size), size), value, `${size.key} at ${position}`);
    }
  }
});

test('values of an axis are between its ends, in order', () => {
  for (let i = 0; i < 200; ++i) {
    const from = 1 + random(5000), to = from + random(100000);
    const values = axis_values(from, to);
    assert.ok(values.length <= 24 && values[0] === from && values.at(-1) === to);
    values.forEach((value, n) => assert.ok(n === 0 || value > values[n - 1]));
  }
});

test('shares of a time are at most all of it, and small ones are added up', () => {
  const split = { busiest: { tensor: 3, smem: 1 }, waits: 2, idle: 1.5, launch: 0.5, more: 1 };
  const [rows] = part_rows({ prediction: { time: { seconds: 8 } }, split: { ...split, busiest: { ...split.busiest, xu: 0.25 } } });
  assert.equal(rows.length, 5);
  assert.equal(rows.at(-1).text, 'rest · 9.38 %');
  assert.deepEqual(part_rows({ prediction: {}, split: null }), [[], 1]);
});

test('a pair of tile sizes shows its best tile, and one that does not fit says why', () => {
  const { axes, cells } = tile_cells({
    kernel: 'k',
    feasible: [{ tile_q: 128, tile_kv: 64, warps: 4, stages: 2, microseconds: 5, l2_bytes: 7 }, { tile_q: 128, tile_kv: 64, warps: 8, stages: 2, microseconds: 6, l2_bytes: 7 }],
    infeasible: [{ tile_q: 256, tile_kv: 64, warps: 4, stages: 2, level: 'smem', needed_bytes: 2000, available_bytes: 1000 }],
  }, 'seconds', 'q=128,kv=64,warps=4');
  assert.deepEqual(axes, ['q', 'kv']);
  assert.deepEqual(cells.map(({ id, ok, here, text }) => [id, ok, here, text]), [['q=128,kv=64,warps=4,stages=2', true, true, '5 µs'], ['q=256,kv=64,warps=4,stages=2', false, false, '']]);
  assert.match(cells[1].fits, /shared memory is too small: needs 2,000 B, has 1,000 B/);
});

test('two answers of different models or rates are not compared without saying so', () => {
  const answer = (seconds, model, basis) => ({ prediction: { feasible: true, time: { seconds, model, basis }, traffic: [{ level: 'hbm', read_bytes: 3, write_bytes: 1 }] } });
  assert.equal(compared_sentence(answer(1, 'blocks', 'measured'), answer(2, 'blocks', 'measured')), 'B takes 2 times as long as A and moves 1 times its HBM bytes.');
  assert.match(compared_sentence(answer(1, 'blocks', 'measured'), answer(2, 'blocks', 'derived')), /They are not alike: A is from measured rates, B from derived rates\.$/);
  assert.match(compared_sentence(answer(1, 'bound', 'published'), answer(2, 'blocks', 'published')), /^Their times are not compared: A is a lower bound, B a prediction\. B moves 1 times the HBM bytes of A\.$/);
  assert.equal(compared_sentence(answer(1, 'blocks', 'measured'), { prediction: { feasible: false } }), '');
});

test('axes of rooflines cover all marks and roofs, whatever is missing', () => {
  const answer = (peaks) => ({ prediction: { work: { tensor_flop: 1e12 }, time: { seconds: 0.01 }, traffic: [{ level: 'hbm', read_bytes: 1e9, write_bytes: 1e8 }, { level: 'smem', read_bytes: null, write_bytes: null }] }, gpu: { roofs: [{ level: 'hbm', bytes_per_second: 1e12 }], peaks } });
  for (const peaks of [[], [{ flop_per_second: 1e15 }]]) {
    const { x, y } = roofline_frame([answer(peaks)]);
    assert.ok(x.low <= 1e12 / 1.1e9 && x.high >= 1e12 / 1.1e9 && y.low <= 1e14 && y.high >= 1e14);
  }
  assert.ok(roofline_frame([]).x.high > 0);
});
