// From an answer of the predictor to the rows of the charts.
import { count, level_name, levels, name_of, percent, with_prefix } from './looks.mjs';

const flop_of = (work) => work.tensor_flop || work.fma_flop || 0;
const order = (key) => levels.findIndex((level) => level.key === key);

export function marks_of({ prediction }) {
  const flop = flop_of(prediction.work ?? {}), seconds = prediction.time?.seconds;
  if (!flop || !seconds) return [];
  return prediction.traffic.filter((t) => t.read_bytes !== null).map((t) => {
    const bytes = t.read_bytes + t.write_bytes;
    return { level: t.level, name: level_name(t.level), x: flop / bytes, y: flop / seconds, intensity: Number((flop / bytes).toPrecision(4)), rate: with_prefix(flop / seconds, 'FLOP/s', 4), bytes: count(bytes) };
  }).filter((mark) => Number.isFinite(mark.x));
}

// Ends on 1, 2 or 5 of a decade, and ticks.
function frame_of(values) {
  const used = values.filter((v) => v > 0 && Number.isFinite(v));
  if (used.length === 0) return { low: 1, high: 10, ticks: [1, 10] };
  const low = Math.min(...used), high = Math.max(...used);
  const below = 10 ** Math.floor(Math.log10(low)), above = 10 ** Math.floor(Math.log10(high));
  const ends = { low: low >= 5 * below ? 5 * below : low >= 2 * below ? 2 * below : below, high: high <= above ? above : high <= 2 * above ? 2 * above : high <= 5 * above ? 5 * above : 10 * above };
  const fine = ends.high / ends.low < 201, ticks = [];
  for (let decade = 10 ** Math.floor(Math.log10(ends.low)); decade <= ends.high * 1.001; decade *= 10)
    for (const step of fine ? [1, 2, 5] : [1]) if (decade * step >= ends.low * 0.999 && decade * step <= ends.high * 1.001) ticks.push(decade * step);
  return { ...ends, ticks };
}
const signals_of = (name, frame) => ({ [`${name}0`]: frame.low, [`${name}1`]: frame.high, [`${name}ticks`]: frame.ticks });

// The axes of all rooflines: they share them.
export function roofline_frame(answers) {
  const xs = [], ys = [];
  for (const answer of answers) {
    const peak = Math.max(0, ...answer.gpu.peaks.map((p) => p.flop_per_second));
    for (const mark of marks_of(answer)) xs.push(mark.x), ys.push(mark.y);
    if (peak > 0) {
      ys.push(peak * 1.3);
      for (const roof of answer.gpu.roofs) xs.push(peak / roof.bytes_per_second);
    }
  }
  xs.push(Math.min(...xs) / 5), ys.push(Math.min(...ys) / 1.5); // room for the names of the roofs
  return { x: frame_of(xs), y: frame_of(ys) };
}

export function roofline_rows(answer, { x, y }, height = 300) {
  const peak = Math.max(0, ...answer.gpu.peaks.map((p) => p.flop_per_second));
  const roofs = [...answer.gpu.roofs].sort((a, b) => b.bytes_per_second - a.bytes_per_second);
  let shifted = false;
  const lines = roofs.map((roof, i) => {
    const rate = roof.bytes_per_second, end = peak > 0 ? Math.min(x.high, peak / rate) : x.high, start = Math.max(x.low, y.low / rate);
    const above = i === 0 ? height : (Math.log(roofs[i - 1].bytes_per_second / rate) / Math.log(y.high / y.low)) * height;
    shifted = above < 26 && !shifted;
    const text = with_prefix(rate, 'B/s');
    return { level: roof.level, name: level_name(roof.level), x: start, y: start * rate, x2: end, y2: end * rate, shift: shifted ? 120 : 8, basis: roof.basis, rate: text, label: `${level_name(roof.level)} ${text}` };
  });
  const fastest = Math.max(0, ...roofs.map((r) => r.bytes_per_second));
  const peaks = answer.gpu.peaks.map((p) => ({ x: fastest > 0 ? Math.max(x.low, p.flop_per_second / fastest) : x.low, x2: x.high, y: p.flop_per_second, label: `${p.path} ${answer.format} ${with_prefix(p.flop_per_second, 'FLOP/s')}` }));
  return [{ roofs: lines, peaks, marks: marks_of(answer) }, { ...signals_of('x', x), ...signals_of('y', y) }];
}

export function traffic_frame(answers) {
  const all = answers.flatMap(({ prediction }) => [...(prediction.traffic ?? []).flatMap((t) => [t.read_bytes, t.write_bytes]), prediction.compulsory_bytes]);
  return frame_of(all.filter(Boolean));
}

export function traffic_rows({ prediction }, frame) {
  const rows = [...(prediction.traffic ?? [])].sort((a, b) => order(a.level) - order(b.level)).flatMap((t) => [['read', t.read_bytes], ['write', t.write_bytes]].filter(([, bytes]) => bytes).map(([direction, bytes]) => ({ level: t.level, name: level_name(t.level), direction, bytes, text: `${count(bytes)} (${with_prefix(bytes, 'B')})` })));
  const least = prediction.compulsory_bytes ? [{ bytes: prediction.compulsory_bytes, text: count(prediction.compulsory_bytes) }] : [];
  return [{ bytes: rows, least }, signals_of('x', frame)];
}

export const most_parts = 5;

// Parts of the time, or, where the time is a lower bound, what each resource alone would take.
export function part_rows({ prediction, split }) {
  const seconds = prediction.time?.seconds;
  if (!seconds) return [[], 1];
  const parts = split
    ? [...Object.entries(split.busiest).map(([unit, s]) => [`bound by ${name_of(unit)}`, s]), ['waits for latency or another unit', split.waits], ['multiprocessors without a block', split.idle], ['launches', split.launch]]
    : (prediction.time.resources ?? []).map((r) => [`${name_of(r.name)} alone`, r.seconds]);
  const shares = parts.filter(([, s]) => s > 0).map(([what, s]) => ({ what, share: s / seconds })).sort((a, b) => b.share - a.share);
  const shown = shares.length > most_parts && split ? [...shares.slice(0, most_parts - 1), { what: 'rest', share: shares.slice(most_parts - 1).reduce((sum, p) => sum + p.share, 0) }] : shares.slice(0, most_parts);
  return [shown.map((part, n) => ({ n, share: part.share, text: `${part.what} · ${percent(part.share)}` })), 1];
}

export function gain_rows({ prediction }) {
  const gains = Object.entries(prediction.time?.saved_by_10_percent ?? {}).filter(([, part]) => part > 0).sort((a, b) => b[1] - a[1]).slice(0, most_parts);
  return [gains.map(([key, share], n) => ({ n, share, text: `${name_of(key)} · ${percent(share)}` })), Math.max(0.02, ...gains.map(([, part]) => part))];
}

export const metrics = {
  microseconds: { label: 'time (µs)', logarithmic: true, of: (p) => p.time.seconds * 1e6 },
  tflops: { label: 'model TFLOP/s', of: (p) => p.work.model_flop / p.time.seconds / 1e12 },
  hbm: { label: 'HBM bytes', logarithmic: true, of: (p) => total(p, 'hbm') },
  l2: { label: 'L2 bytes', logarithmic: true, of: (p) => total(p, 'l2') },
  joules: { label: 'energy (J)', logarithmic: true, of: (p) => (p.time.watts ? p.time.watts * p.time.seconds : null) },
};
const total = (prediction, level) => {
  const found = prediction.traffic.find((t) => t.level === level);
  return found ? found.read_bytes + found.write_bytes : null;
};

// The ends of a curve's axes; one that is not logarithmic begins at 0.
export function curve_signals(rows, from, to, xticks, logarithmic) {
  const ys = rows.map((row) => row.y), frame = frame_of(ys);
  const step = frame.high / 5;
  const y = logarithmic ? frame : { low: 0, high: frame.high, ticks: [0, 1, 2, 3, 4, 5].map((n) => Number((n * step).toPrecision(6))) };
  return { ...signals_of('x', { low: from, high: to, ticks: xticks }), ...signals_of('y', y) };
}

export function curve_row(side, x, answer, metric, here) {
  const { prediction, tile } = answer;
  if (!prediction.feasible || !prediction.time?.seconds) return null;
  const y = metrics[metric].of(prediction);
  return Number.isFinite(y) && y > 0 ? { side, x, y, at: count(x), text: String(Number(y.toPrecision(4))), tile, bound: name_of(prediction.time.bound_by), here } : null;
}

// A cell for each pair of the first two tile sizes, with the best of the others; from what `search` prints.
export function tile_cells({ feasible, infeasible, kernel }, metric, chosen_tile) {
  const columns = Object.keys((feasible[0] ?? infeasible[0]) ?? {}).filter((key) => key.startsWith('tile_'));
  const [y, x] = columns;
  if (!x) return { axes: [], cells: [] };
  const tile_of = (row) => [...columns.map((key) => `${key.slice(5)}=${row[key]}`), `warps=${row.warps}`, ...(kernel && row.stages ? [`stages=${row.stages}`] : [])].join(',');
  const chosen = new Map((chosen_tile ?? '').split(',').map((part) => part.split('=')));
  const cells = new Map();
  for (const row of [...feasible, ...infeasible]) {
    const key = `${row[y]} ${row[x]}`;
    if (cells.has(key)) continue;
    const ok = row.microseconds !== undefined, seconds = ok ? row.microseconds / 1e6 : null, value = metric === 'seconds' ? seconds : row.l2_bytes;
    cells.set(key, {
      y: row[y], x: row[x], ok, id: tile_of(row), tile: tile_of(row), level: row.level ?? null, v: ok ? value : null, text: ok ? with_prefix(value, metric === 'seconds' ? 's' : 'B') : '',
      here: String(row[y]) === chosen.get(y.slice(5)) && String(row[x]) === chosen.get(x.slice(5)),
      seconds_text: ok ? with_prefix(seconds, 's', 4) : '–', l2_text: ok ? count(row.l2_bytes) : '–',
      fits: ok ? 'yes' : row.level ? `no, ${level_name(row.level)} is too small: needs ${count(row.needed_bytes)} B, has ${count(row.available_bytes)} B` : 'cannot run',
    });
  }
  return { axes: [y.slice(5), x.slice(5)], cells: [...cells.values()] };
}
