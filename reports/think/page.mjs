// The page: forms, answers, curve, tiles; its address holds all of it.
import { AnswerView } from './answer.mjs';
import { Chart, curve, tiles } from './charts.mjs';
import { Engine } from './engine.mjs';
import { Form, element, field, options } from './form.mjs';
import { curve_row, curve_signals, metrics, roofline_frame, tile_cells, traffic_frame } from './pictures.mjs';
import { compared_sentence } from './sentences.mjs';
import { address_of, axis_values, first_choice, options_of, sizes, state_of } from './state.mjs';

const by_id = (id) => document.getElementById(id);

async function unpacked(id) {
  const packed = atob(by_id(id).textContent.trim());
  const stream = new Blob([Uint8Array.from(packed, (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream);
}

function save(text, name) {
  const link = element('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/json' })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

class Page {
  constructor(parts, catalogue) {
    this.catalogue = catalogue;
    this.profiles = parts.files;
    const module = { binary: parts.binary, files: parts.files };
    this.fast = new Engine(parts.worker, module); // the question
    this.slow = new Engine(parts.worker, module); // curve and tiles, one point at a time
    this.state = state_of(location.hash);
    this.views = {};
    this.forms = {};
    this.turn = 0;
    this.curve = new Chart(by_id('curve'));
  }

  sides() { return this.state.b ? ['a', 'b'] : ['a']; }
  edited(side) { return `/edited/${side}/${this.state[side].hardware}_edited.yaml`; }
  question(side) {
    const choice = this.state[side], path = this.edited(side);
    return [options_of(choice, path), choice.yaml ? { [path]: choice.yaml } : {}];
  }

  start() {
    document.body.append(
      element('datalist', { id: 'masks' }, ...options([['none'], ['causal'], ['window:1024'], ['prefix:1024']])),
      element('datalist', { id: 'formats' }, ...options(this.catalogue.formats.map((name) => [name]))));
    this.make_view_controls();
    by_id('second').addEventListener('change', (event) => this.set_second(event.target.checked));
    by_id('reset').addEventListener('click', () => { location.hash = ''; });
    by_id('copy-link').addEventListener('click', () => this.copy_link());
    window.addEventListener('hashchange', () => { if (location.hash.slice(1) !== this.written) this.take_address(); });
    this.build();
  }

  take_address() {
    this.state = state_of(location.hash);
    this.show_view_controls();
    this.build();
  }

  set_second(on) {
    this.state.b = on ? { ...this.state.a } : null;
    this.build();
  }

  async copy_link() {
    this.keep_in_address();
    try {
      await navigator.clipboard.writeText(location.href);
      by_id('said').textContent = 'The link is copied.';
    } catch {
      by_id('said').textContent = 'Copy the address of this page: it holds everything.';
    }
  }

  // Forms and places of answers for one or two configurations.
  build() {
    by_id('second').checked = Boolean(this.state.b);
    for (const view of Object.values(this.views)) for (const chart of Object.values(view.charts)) chart.clear();
    this.views = {}, this.forms = {};
    for (const side of this.sides()) {
      this.forms[side] = new Form(side, this.catalogue, this.profiles, this.state[side], () => this.follow());
      this.views[side] = new AnswerView(side, (text) => save(text, `tilescope-${side}.json`));
    }
    for (const [id, roots] of [['forms', this.forms], ['answers', this.views]]) {
      by_id(id).replaceChildren(...Object.values(roots).map((one) => one.root));
      by_id(id).classList.toggle('two', Boolean(this.state.b));
    }
    by_id('tiles').classList.toggle('two', Boolean(this.state.b));
    for (const form of Object.values(this.forms)) form.show();
    this.make_tile_places();
    this.follow();
  }

  keep_in_address() {
    this.written = address_of(this.state);
    if (location.hash.slice(1) !== this.written) history.replaceState(null, '', this.written ? `#${this.written}` : location.pathname + location.search);
  }

  // ---- the question ------------------------------------------------------------------------------------------------
  async follow() {
    const turn = ++this.turn, since = performance.now();
    document.documentElement.dataset.busy = 'yes';
    clearTimeout(this.address_timer);
    this.address_timer = setTimeout(() => this.keep_in_address(), 150);
    const replies = await Promise.all(this.sides().map((side) => this.fast.ask(side, 'point', ...this.question(side))));
    if (replies.includes(null) || turn !== this.turn) return; // a newer question is on its way
    this.sides().forEach((side, i) => this.take(side, replies[i]));
    by_id('compared').textContent = this.state.b ? compared_sentence(this.views.a.answer, this.views.b.answer) : '';
    await this.draw();
    if (turn !== this.turn) return;
    this.latency = { predictor: Math.max(...replies.map((r) => r.milliseconds)), all: performance.now() - since };
    document.documentElement.dataset.ready = 'yes';
    document.documentElement.dataset.answered = String(Number(document.documentElement.dataset.answered ?? 0) + 1);
    delete document.documentElement.dataset.busy;
    this.follow_slowly(turn);
  }

  take(side, reply) {
    const view = this.views[side];
    if (reply.error) return view.refuse(reply.error.replace(/^error: /, ''));
    const { prediction } = reply.answer;
    view.say(reply.answer, this.state[side], `${JSON.stringify(prediction, null, 2)}\n`);
    if (prediction.point?.dtypes) this.forms[side].show_arrays(prediction.point.dtypes);
  }

  async draw() {
    const answers = this.sides().map((side) => this.views[side].answer).filter((answer) => answer?.prediction.traffic);
    const timed = answers.filter((answer) => answer.prediction.time?.seconds);
    const frames = { roofline: roofline_frame(timed.length ? timed : answers), traffic: traffic_frame(answers) };
    await Promise.all(this.sides().map((side) => this.views[side].draw(frames, this.state.b ? 330 : 520)));
  }

  // ---- curve and tiles: one point after the other, dropped when the question changes -------------------------------
  make_view_controls() {
    const keep = (key, control) => {
      control.id = `view-${key}`;
      control.addEventListener('change', () => {
        this.state.view[key] = control.value.trim();
        if (key === 'axis') this.state.view.from = this.state.view.to = '';
        this.show_view_controls();
        this.follow();
      });
      return control;
    };
    const keep_list = (list) => element('select', {}, ...options(list));
    by_id('curve-controls').append(
      field('Over', keep('axis', keep_list(sizes.map(({ key, label }) => [key, label.toLowerCase()])))),
      field('From', keep('from', element('input', { type: 'number', min: '1' }))), field('To', keep('to', element('input', { type: 'number', min: '1' }))),
      field('Shown', keep('metric', keep_list(Object.entries(metrics).map(([key, { label }]) => [key, label])))));
    by_id('tiles-controls').append(field('Shown', keep('tiles', keep_list([['seconds', 'time'], ['l2_bytes', 'L2 bytes']]))));
    this.show_view_controls();
  }

  show_view_controls() {
    const { view } = this.state, [from, to] = this.ends();
    for (const key of ['axis', 'metric', 'tiles']) by_id(`view-${key}`).value = view[key];
    by_id('view-from').value = view.from, by_id('view-from').placeholder = String(from);
    by_id('view-to').value = view.to, by_id('view-to').placeholder = String(to);
  }

  ends() {
    const { axis, from, to } = this.state.view;
    const usual = { batch: [1, 64], heads: [1, 64], heads_kv: [1, 16], q_len: [256, 16384], kv_len: [256, 16384], head_dim: [32, 256], v_head_dim: [32, 256] }[axis] ?? [1, 64];
    return [Number(from) || usual[0], Number(to) || usual[1]].sort((x, y) => x - y);
  }

  make_tile_places() {
    for (const { chart } of Object.values(this.tile_places ?? {})) chart.clear();
    this.tile_places = {};
    by_id('tiles').replaceChildren(...this.sides().map((side) => {
      const place = element('div', { class: 'chart', id: `tiles-${side}` }), note = element('p', { class: 'quiet', role: 'status' });
      const one = { place, note, cells: [] };
      one.chart = new Chart(place, { choose: (tile) => { if (one.cells.some((cell) => cell.id === tile && cell.ok)) this.forms[side].take('tile', tile); } });
      this.tile_places[side] = one;
      return element('div', { class: `side ${side}` }, element('h3', { class: 'title' }, element('b', { class: 'name' }, side.toUpperCase()), 'Configuration'), note, place);
    }));
  }

  async follow_slowly(turn) {
    const current = () => turn === this.turn;
    document.documentElement.dataset.slow = 'busy';
    await new Promise((resolve) => { setTimeout(resolve, 200); }); // a slider that still moves comes first
    if (!current()) return;
    await this.draw_curve(current);
    for (const side of this.sides()) if (current()) await this.draw_tiles(side, current);
    if (current()) document.documentElement.dataset.slow = 'done';
  }

  async draw_curve(current) {
    const { axis, metric } = this.state.view, [from, to] = this.ends(), rows = [], refused = new Set();
    const size = sizes.find(({ key }) => key === axis), shown = metrics[metric];
    if (!size || !shown) return;
    const x_title = size.label.toLowerCase();
    by_id('curve-title').textContent = `Curve of ${shown.label} over ${x_title}`;
    const xticks = axis_values(from, to, 1);
    const show = () => this.curve.set(`${axis} ${metric}`, () => curve(x_title, shown.label, shown.logarithmic), { curve: rows }, curve_signals(rows, from, to, xticks, shown.logarithmic));
    for (const side of this.sides())
      for (const value of this.values_with_question(side, axis, from, to)) {
        const [asked, files] = this.question_at(side, axis, value);
        const reply = await this.slow.ask('point', 'point', asked, files);
        if (!reply || !current()) return;
        const row = reply.answer ? curve_row(side.toUpperCase(), value, reply.answer, metric, String(value) === this.value_of(side, axis)) : null;
        if (!row) refused.add(`${side.toUpperCase()} at ${value}`);
        else rows.push(row);
        if (row && rows.length > 1) await show();
      }
    if (rows.length <= 1) this.curve.clear();
    by_id('curve-note').textContent = refused.size ? `No time: ${[...refused].slice(0, 6).join(', ')}${refused.size > 6 ? ` and ${refused.size - 6} more` : ''}.` : '';
  }

  value_of(side, axis) {
    const choice = this.state[side], { same } = sizes.find(({ key }) => key === axis);
    return choice[axis] || (same ? choice[same] : '') || first_choice[axis];
  }

  values_with_question(side, axis, from, to) {
    const here = Number(this.value_of(side, axis));
    return [...new Set([...axis_values(from, to), ...(here >= from && here <= to ? [here] : [])])].sort((x, y) => x - y);
  }

  question_at(side, axis, value) {
    const [, files] = this.question(side);
    return [options_of({ ...this.state[side], [axis]: String(value) }, this.edited(side)), files];
  }

  async draw_tiles(side, current) {
    const { answer } = this.views[side], shown = this.tile_places[side], metric = this.state.view.tiles;
    const say = (text) => { shown.note.textContent = text; };
    const none = (text) => { say(text), shown.chart.clear(), shown.cells = []; };
    if (!answer?.tile) return none('No tiles for this question.');
    const [asked, files] = this.question(side);
    const reply = await this.slow.ask('tiles', 'search', [...asked.filter(([name]) => name !== 'tile'), ['top', '100000']], files);
    if (!reply || !current()) return;
    if (reply.error) return none(reply.error.replace(/^error: /, ''));
    const { axes, cells } = tile_cells(reply.answer, metric, answer.tile);
    if (axes.length < 2) return none('This schedule has fewer than two tile sizes.');
    const rows = new Set(cells.map((cell) => cell.y)).size;
    shown.cells = cells;
    say(`${cells.filter((cell) => cell.ok).length} of ${cells.length} tiles can run. Choose one to take it${this.state[side].tile ? '; empty the tile field for the best one' : ''}.`);
    await shown.chart.set(`${axes} ${rows} ${metric}`, () => tiles(`tile ${axes[1]}`, `tile ${axes[0]}`, metric === 'seconds' ? 'time' : 'L2 bytes', rows), { cells });
  }
}

async function main() {
  const library = await (await unpacked('chart-library')).text();
  document.head.append(element('script', {}, library));
  by_id('licences').addEventListener('toggle', (event) => { event.target.querySelector('pre').textContent = library.slice(0, library.indexOf('*/')).replace(/^\/\*\s*/, ''); });
  const { wasm, files, worker, catalogue } = JSON.parse(await (await unpacked('predictor')).text());
  const binary = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
  const page = new Page({ binary, files, worker }, catalogue);
  window.tilescope_page = page; // for tests and the console
  page.start();
}

main().catch((error) => {
  by_id('answers').replaceChildren(element('p', { class: 'refusal', role: 'alert' }, `The page cannot start: ${error.message}`));
  console.error(error);
});
