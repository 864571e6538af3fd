// What the page asks: two configurations and what is drawn of them. Its address, its options and its command line.

// The number fields of a configuration: its option, what the page calls it, and the range of its slider.
export const sizes = [
  { key: 'batch', option: 'batch', label: 'Batch', least: 1, most: 1024 },
  { key: 'heads', option: 'heads-q', label: 'Query heads', least: 1, most: 256 },
  { key: 'heads_kv', option: 'heads-kv', label: 'KV heads', least: 1, most: 256, same: 'heads', as: 'as queries' },
  { key: 'q_len', option: 'q-len', label: 'Query length', least: 1, most: 131072 },
  { key: 'kv_len', option: 'kv-len', label: 'Key length', least: 1, most: 1048576, same: 'q_len', as: 'as queries' },
  { key: 'head_dim', option: 'head-dim', label: 'Head dimension', least: 16, most: 512 },
  { key: 'v_head_dim', option: 'v-head-dim', label: 'Value dimension', least: 16, most: 512, same: 'head_dim', as: 'as keys' },
];

export const first_choice = {
  hardware: 'h200_sxm', how: 'kernel:fused_mma', batch: '1', heads: '16', heads_kv: '', q_len: '4096', kv_len: '', head_dim: '128',
  v_head_dim: '', mask: 'none', dtype: 'fp16', arrays: '', tile: '', set: '', yaml: '', l2: 'walk',
};
export const first_view = { axis: 'q_len', from: '', to: '', metric: 'microseconds', tiles: 'seconds' };

const configuration_keys = Object.keys(first_choice), view_keys = Object.keys(first_view);
const escape = (text) => encodeURIComponent(text).replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%3D/g, '=');

// "a.hardware=l40s&b.q_len=8192&axis=batch": what differs from the first choice. "b" alone: a second one like the first choice.
export function address_of({ a, b, view }) {
  const parts = [];
  const add = (prefix, values, keys, first) => {
    for (const key of keys) if (values[key] !== first[key]) parts.push(`${prefix}${key}=${escape(values[key])}`);
  };
  add('a.', a, configuration_keys, first_choice);
  if (b) parts.push('b'), add('b.', b, configuration_keys, first_choice);
  add('', view, view_keys, first_view);
  return parts.join('&');
}

// The reverse. Unknown keys are ignored, so that an address of another version still opens.
export function state_of(address) {
  const state = { a: { ...first_choice }, b: null, view: { ...first_view } };
  for (const part of address.replace(/^#/, '').split('&')) {
    if (!part) continue;
    const at = part.indexOf('=');
    const name = at < 0 ? part : part.slice(0, at);
    let value = '';
    try { value = at < 0 ? '' : decodeURIComponent(part.slice(at + 1)); } catch { continue; }
    if (name === 'b') state.b ??= { ...first_choice };
    const [owner, key] = name.includes('.') ? name.split('.') : ['view', name];
    if (owner === 'b' && configuration_keys.includes(key)) state.b ??= { ...first_choice };
    if (['a', 'b'].includes(owner) && configuration_keys.includes(key)) state[owner][key] = value;
    else if (owner === 'view' && view_keys.includes(key)) state.view[key] = value;
  }
  return state;
}

// The options of the command line, in its order. A profile that was edited in the page is the file `edited`.
export function options_of(choice, edited) {
  const options = [['hardware', choice.yaml ? edited : choice.hardware]];
  if (choice.set) options.push(['set', choice.set]);
  options.push(choice.how.split(':', 2));
  for (const { key, option } of sizes) if (choice[key] !== '') options.push([option, choice[key]]);
  if (choice.mask) options.push(['mask', choice.mask]);
  const dtype = [choice.dtype, choice.arrays].filter(Boolean).join(',');
  if (dtype) options.push(['dtype', dtype]);
  if (choice.tile) options.push(['tile', choice.tile]);
  if (choice.l2 !== 'walk') options.push(['l2', choice.l2]);
  return options;
}

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

export function command_of(choice) {
  const file = `${choice.hardware}.yaml`;
  return `tilescope predict ${options_of(choice, file).map(([name, value]) => `--${name} ${quoted(value)}`).join(' ')} --format json`;
}

// "kv=int8,o=bf16" with another format for one array; an empty format takes the array out.
export function with_array(arrays, key, format) {
  const kept = arrays.split(',').filter((entry) => entry && entry.split('=')[0] !== key);
  return [...kept, ...(format ? [`${key}=${format}`] : [])].join(',');
}

// The same of "levels.hbm.bandwidth=+20%,compute.units=160".
export const with_change = with_array;

// Values of an axis between two ends: powers of two and the middle between them, at most `most`.
export function axis_values(from, to, most = 24) {
  const values = new Set([from, to]);
  for (let power = 1; power < to; power *= 2) for (const value of [power, 1.5 * power]) if (Number.isInteger(value) && value > from && value < to) values.add(value);
  const sorted = [...values].sort((x, y) => x - y);
  if (sorted.length <= most) return sorted;
  return sorted.filter((value, i) => i === 0 || i === sorted.length - 1 || Number.isInteger(Math.log2(value)));
}

// A slider goes over logarithms: a position of 0 to 1000.
export const position_of = (value, { least, most }) => Math.round((1000 * Math.log(Math.min(Math.max(value, least), most) / least)) / Math.log(most / least));
export function value_at(position, { least, most }) {
  const value = least * (most / least) ** (position / 1000);
  const step = value < 32 ? 1 : 2 ** Math.max(0, Math.floor(Math.log2(value)) - 3); // eight steps an octave
  return Math.min(most, Math.max(least, Math.round(value / step) * step));
}
