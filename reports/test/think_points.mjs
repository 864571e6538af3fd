// Random questions for the page to think on, the same at every run; TILESCOPE_SEED gives others.
let seed = Number(process.env.TILESCOPE_SEED ?? 1);
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2 ** 31; return Math.floor((seed / 2 ** 31) * n); };
const pick = (list) => list[random(list.length)];
const length = () => String(pick([1, 2, 3, 5, 8, 13]) * 2 ** random(9) + (random(3) === 0 ? random(7) : 0));

export function random_options({ gpus, kernels, schedules, formats }) {
  const given = [['hardware', pick(gpus).id]];
  const [kernel, schedule] = [pick(kernels), pick(schedules)];
  const named = random(20);
  if (named < 9) given.push(['kernel', kernel.kernel]);
  else if (named < 19) given.push(['schedule', schedule.schedule]);
  else given.push(['kernel', 'auto']);
  const heads = 2 ** random(6);
  given.push(['batch', String(1 + random(8))], ['heads-q', String(heads)], ['heads-kv', String(heads / 2 ** random(1 + Math.log2(heads)))]);
  given.push(['q-len', random(4) === 0 ? '1' : length()], ['kv-len', length()]);
  const dims = kernel.head_dims.split(' ').filter((dim) => /^\d+$/.test(dim));
  given.push(['head-dim', named < 9 && dims.length ? pick(dims) : pick(['64', '96', '128', '192'])]);
  given.push(['mask', pick(['none', 'causal', 'window:512'])]);
  if (random(3)) given.push(['dtype', pick(['fp16', 'bf16', pick(formats), `fp16,kv=${pick(formats)}`, 'fp16,kv=int8:g64:b2,o=bf16'])]);
  if (random(3) === 0) given.push(['tile', pick(['q=64,kv=64,warps=4', 'q=128,kv=64', 'q=16,kv=128', 'kv=64'])]);
  if (random(4) === 0) given.push(['set', pick(['levels.hbm.bandwidth=+20%', 'compute.units=100', 'levels.l2.capacity=-50%'])]);
  if (random(4) === 0) given.push(['l2', 'closed']);
  return given;
}
