// The controls of one configuration.

import { first_choice, position_of, sizes, value_at, with_array, with_change } from './state.mjs';

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    if (key === 'on') for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (key in made && typeof value !== 'string') made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const field = (label, control) => element('label', { class: 'field' }, label, control);
export const options = (list, chosen) => list.map(([value, text]) => element('option', { value, selected: value === chosen }, text ?? value));

// What may be changed of a GPU without writing its profile: keys of --set.
const changes = [
  ['levels.hbm.bandwidth', 'HBM bandwidth'], ['levels.hbm.capacity', 'HBM capacity'], ['levels.l2.capacity', 'L2 capacity'], ['levels.smem.capacity', 'shared memory of an SM'],
  ['compute.units', 'SMs'], ['compute.boost_clock', 'boost clock'], ['compute.tensor_clock', 'tensor clock'], ['board.power', 'board power'],
];

export class Form {
  constructor(side, catalogue, profiles, choice, changed) {
    Object.assign(this, { side, catalogue, profiles, choice, changed });
    this.controls = {};
    this.ranges = {};
    this.root = element('fieldset', { class: `side ${side}`, id: `form-${side}` }, element('legend', {}, element('b', { class: 'name' }, side.toUpperCase()), 'Configuration'),
      element('div', { class: 'fields' }, this.gpu(), this.implementation(), this.shape(), this.mask(), this.note),
      element('h3', {}, 'Sizes'), element('div', { class: 'fields' }, ...sizes.map((size) => this.size(size))),
      element('h3', {}, 'Format and tile'), element('div', { class: 'fields' }, this.format(), this.tile(), this.l2()),
      this.array_formats(), this.gpu_changes());
  }

  // A control of the key; the form's values come from and go to `choice`.
  keep(key, control, event = 'change') {
    control.id = `${this.side}-${key}`;
    control.addEventListener(event, () => this.take(key, control.value.trim()));
    this.controls[key] = control;
    return control;
  }

  take(key, value) {
    if (this.choice[key] === value) return;
    this.choice[key] = value;
    if (key === 'hardware') this.choice.yaml = '';
    if (key === 'how' || key === 'hardware') this.choice.tile = '';
    this.show();
    this.changed(this.side);
  }

  gpu() {
    const list = this.catalogue.gpus.map((gpu) => [gpu.id, `${gpu.name} (${gpu.id})`]);
    return field('GPU', this.keep('hardware', element('select', {}, ...options(list))));
  }

  implementation() {
    const kernels = this.catalogue.kernels.map((k) => [`kernel:${k.kernel}`, k.kernel]);
    const schedules = this.catalogue.schedules.filter((s) => s.diagram.startsWith('attention')).map((s) => [`schedule:${s.schedule}`, s.schedule]);
    const select = element('select', {}, element('optgroup', { label: 'Best existing kernel' }, ...options([['kernel:auto', 'auto: the fastest that runs']])),
      element('optgroup', { label: 'Schedules, as ideal kernels' }, ...options(schedules)), element('optgroup', { label: 'Kernels' }, ...options(kernels)));
    this.note = element('p', { class: 'quiet note' });
    return field('Kernel or schedule', this.keep('how', select));
  }

  shape() {
    const list = [['', 'choose sizes by name …'], ...this.catalogue.workloads.map((w) => [w.workload])];
    const select = element('select', { id: `${this.side}-workload` }, ...options(list));
    select.addEventListener('change', () => {
      const named = this.catalogue.workloads.find((w) => w.workload === select.value);
      select.value = '';
      if (!named) return;
      const text = (value, same) => (value === same ? '' : String(value));
      Object.assign(this.choice, {
        batch: String(named.batch), heads: String(named.heads_q), heads_kv: text(named.heads_kv, named.heads_q), q_len: String(named.q_len), kv_len: text(named.kv_len, named.q_len),
        head_dim: String(named.d_qk), v_head_dim: text(named.d_v, named.d_qk), tile: '',
      });
      this.show();
      this.changed(this.side);
    });
    return field('Named sizes', select);
  }

  mask() { return field('Mask', this.keep('mask', element('input', { type: 'text', list: 'masks', spellcheck: 'false', title: 'none, causal, window:W or prefix:P' }))); }

  size(size) {
    const { key, label, least, most, same } = size;
    const number = this.keep(key, element('input', { type: 'number', min: String(least), max: String(most), step: '1', 'aria-label': `${label}, number` }), 'input');
    const range = element('input', { type: 'range', min: '0', max: '1000', step: '1', id: `${this.side}-${key}-slider`, 'aria-label': label });
    range.addEventListener('input', () => this.take(key, String(value_at(Number(range.value), size))));
    this.ranges[key] = range;
    const names = [element('span', {}, label)];
    if (same) {
      const tick = element('input', { type: 'checkbox', id: `${this.side}-${key}-same` });
      tick.addEventListener('change', () => this.take(key, tick.checked ? '' : this.choice[same]));
      this.ranges[`${key}-same`] = tick;
      names.push(element('label', { class: 'tick' }, tick, size.as));
    }
    return element('div', { class: 'size' }, element('div', { class: 'names' }, ...names), range, number);
  }

  format() { return field('Format of all arrays', this.keep('dtype', element('input', { type: 'text', list: 'formats', spellcheck: 'false' }))); }
  tile() { return field('Tile (empty: the best of a search)', this.keep('tile', element('input', { type: 'text', placeholder: 'q=128,kv=64', spellcheck: 'false' }))); }
  l2() { return field('Model of the L2', this.keep('l2', element('select', {}, ...options([['walk', 'walk: every block, one after another'], ['closed', 'closed: a formula, faster']])))); }

  array_formats() {
    this.arrays = element('div', { class: 'fields' });
    return element('details', { id: `${this.side}-arrays-section` }, element('summary', {}, 'A format for each array'), this.arrays);
  }

  // The arrays of the diagram are known from an answer.
  show_arrays(dtypes) {
    const keys = Object.keys(dtypes);
    if (this.shown_arrays !== keys.join()) {
      this.shown_arrays = keys.join();
      this.array_controls = Object.fromEntries(keys.map((key) => {
        const control = element('input', { type: 'text', list: 'formats', id: `${this.side}-array-${key}`, spellcheck: 'false' });
        control.addEventListener('change', () => this.take('arrays', with_array(this.choice.arrays, key, control.value.trim())));
        return [key, control];
      }));
      this.arrays.replaceChildren(...keys.map((key) => field(`Array ${key}`, this.array_controls[key])));
    }
    const stated = new Map(this.choice.arrays.split(',').map((part) => part.split('=')));
    for (const key of keys) {
      const both = { k: 'kv', v: 'kv' }[key];
      this.array_controls[key].value = stated.get(key) ?? stated.get(both) ?? '';
      this.array_controls[key].placeholder = dtypes[key];
    }
  }

  gpu_changes() {
    this.change_controls = changes.map(([key, label]) => {
      const control = element('input', { type: 'text', placeholder: '+20% or a value', id: `${this.side}-set-${key}`, spellcheck: 'false' });
      control.addEventListener('change', () => this.take('set', with_change(this.choice.set, key, control.value.trim())));
      return [key, label, control];
    });
    this.profile = element('textarea', { id: `${this.side}-profile`, spellcheck: 'false', 'aria-label': 'Profile of the GPU in YAML' });
    const use = element('button', { type: 'button', on: { click: () => this.take('yaml', this.profile.value === this.shipped() ? '' : this.profile.value) } }, 'Use this profile');
    const back = element('button', { type: 'button', on: { click: () => { this.take('yaml', ''); this.show(); } } }, 'Back to the shipped profile');
    return element('details', { id: `${this.side}-gpu-section` }, element('summary', {}, 'Change the GPU'),
      element('div', { class: 'fields' }, ...this.change_controls.map(([, label, control]) => field(label, control))),
      element('details', { id: `${this.side}-profile-section`, on: { toggle: () => this.show() } }, element('summary', {}, 'Edit its whole profile'), this.profile, element('div', { class: 'bar' }, use, back)));
  }

  // The shipped profile as it is edited: under another id, since nobody has measured what it becomes.
  shipped() {
    const { hardware } = this.choice;
    return (this.profiles[`hardware/${hardware}.yaml`] ?? '').replace(/^id: .*$/m, `id: ${hardware}_edited`);
  }

  show() {
    const { choice } = this;
    const named = (control, value) => {
      if (control.tagName === 'SELECT' && ![...control.options].some((o) => o.value === value)) control.add(new Option(value, value));
      if (document.activeElement !== control || control.value !== value) control.value = value;
    };
    for (const [key, control] of Object.entries(this.controls)) named(control, choice[key]);
    for (const size of sizes) {
      const value = choice[size.key] === '' ? choice[size.same] || first_choice[size.same] : choice[size.key];
      this.ranges[size.key].value = String(position_of(Number(value), size));
      this.ranges[size.key].setAttribute('aria-valuetext', value);
      const same = this.ranges[`${size.key}-same`];
      if (same) same.checked = choice[size.key] === '';
      this.controls[size.key].placeholder = choice[size.key] === '' ? value : '';
    }
    const stated = new Map(choice.set.split(',').map((part) => part.split('=')));
    for (const [key, , control] of this.change_controls) named(control, stated.get(key) ?? '');
    if (document.activeElement !== this.profile) this.profile.value = choice.yaml || this.shipped();
    const [kind, name] = choice.how.split(':');
    const known = kind === 'kernel' ? this.catalogue.kernels.find((k) => k.kernel === name) : this.catalogue.schedules.find((s) => s.schedule === name);
    this.note.textContent = known ? (known.head_dims && known.head_dims !== 'any' ? `${known.summary}; head dimensions ${known.head_dims.replaceAll(' ', ', ')}` : known.summary) : '';
  }
}

