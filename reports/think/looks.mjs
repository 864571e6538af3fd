// How levels and units are named and drawn, as on the report pages (src/report/charts/levels.cpp).
export const levels = [
  { key: 'hbm', name: 'HBM', colour: 'var(--hbm)', shape: 'circle', dash: [1, 0] },
  { key: 'llc', name: 'LLC', colour: 'var(--llc)', shape: 'triangle-down', dash: [12, 4] },
  { key: 'l2', name: 'L2', colour: 'var(--l2)', shape: 'square', dash: [7, 3] },
  { key: 'smem', name: 'shared memory', colour: 'var(--smem)', shape: 'triangle-up', dash: [2, 2] },
  { key: 'tmem', name: 'tensor memory', colour: 'var(--tmem)', shape: 'cross', dash: [4, 6] },
  { key: 'register', name: 'registers', colour: 'var(--register)', shape: 'diamond', dash: [1, 4] },
];
const units = {
  tensor: 'tensor cores', xu: 'special functions', fma: 'fp32 units', alu: 'integer units', issue: 'instruction issue', launch: 'launches',
  power: 'power limit', latency: 'all latencies',
};
export const level_name = (key) => levels.find((level) => level.key === key)?.name ?? key;
export const name_of = (key) => units[key] ?? level_name(key);

const prefixes = ['f', 'p', 'n', 'µ', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
export function with_prefix(value, unit, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return `0 ${unit}`.trim();
  const step = Math.max(-5, Math.min(6, Math.floor(Math.log10(Math.abs(value)) / 3)));
  return `${Number((value / 1000 ** step).toPrecision(digits))} ${prefixes[step + 5]}${unit}`.trim();
}
export const percent = (part) => (part < 0.0001 ? 'under 0.01 %' : `${Number((100 * part).toPrecision(3))} %`);
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
export const count = (value) => whole.format(value);
