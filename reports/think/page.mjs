// The page: forms, answers, curve, tiles; its address holds all of it.
import { AnswerView } from './answer.mjs';
import { Chart, curve, tiles } from './charts.mjs';
import { Engine } from './engine.mjs';
import { Form, element, field, options } from './form.mjs';
import { curve_row, metrics, roofline_frame, tile_rows, traffic_frame } from './pictures.mjs';
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
    this.drawn = { a: '', b: '' };
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
    for (const view of Object.values(this.views)) for (const chart of Object.values(view.charts)) chart.remove();
    this.views = {}, this.forms = {}, this.drawn = { a: '', b: '' };
    for (const side of this.sides()) {
      this.forms[side] = new Form(side, this.catalogue, this.profiles, this.state[side], () => this.follow());
      this.views[side] = new AnswerView(side, (text) => save(text, `tilescope-${side}.json`));
    }
    for (const [id, roots] of [['forms', this.forms], ['answers', this.views]]) {
      by_id(id).replaceChildren(...Object.values(roots).map((one) => one.root));
      by_id(id).classList.toggle('two', Boolean(this.state.b));
    }
    by_id('tiles').classList.toggle('two', Boolean(this.state.b));
    for (const [side, form] of Object.entries(this.forms)) form.show(), this.views[side].make_charts();
    this.remake_tiles();
    this.remake_curve();
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
    await this.draw();
    if (turn !== this.turn) return;
    this.latency = { predictor: Math.max(...replies.map((r) => r.milliseconds)), all: performance.now() - since };
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
    await Promise.all(this.sides().map((side) => this.views[side].draw(frames)));
  }

  // ---- curve and tiles: one point after the other, dropped when the question changes -------------------------------
  make_view_controls() {
    const keep = (key, control) => {
      control.id = `view-${key}`;
      control.addEventListener('change', () => {
        this.state.view[key] = control.value.trim();
        if (key === 'axis') this.state.view.from = this.state.view.to = '';
        this.show_view_controls();
        if (key !== 'tiles') this.remake_curve();
        else this.remake_tiles();
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
    return [Number(from) || usual[0], Number(to) || usual[1]];
  }

  remake_curve() {
    this.curve?.remove();
    const size = sizes.find(({ key }) => key === this.state.view.axis) ?? sizes[0], metric = metrics[this.state.view.metric] ?? metrics.microseconds;
    by_id('curve-title').textContent = `Curve of ${metric.label} over ${size.label.toLowerCase()}`;
    this.curve = new Chart(by_id('curve'), curve(size.label.toLowerCase(), metric.label, metric.logarithmic));
    this.drawn.curve = '';
  }

  remake_tiles() {
    for (const chart of Object.values(this.tile_charts ?? {})) chart.chart?.remove();
    this.tile_charts = {};
    by_id('tiles').replaceChildren(...this.sides().map((side) => {
      const place = element('div', { class: 'chart', id: `tiles-${side}` }), note = element('p', { class: 'quiet', role: 'status' });
      this.tile_charts[side] = { place, note };
      return element('div', { class: `side ${side}` }, element('h3', {}, element('b', { class: 'name' }, side.toUpperCase()), 'Configuration'), note, place);
    }));
  }

  async follow_slowly(turn) {
    const current = () => turn === this.turn;
    document.documentElement.dataset.slow = 'busy';
    await this.draw_curve(current);
    for (const side of this.sides()) if (current()) await this.draw_tiles(side, current);
    if (current()) document.documentElement.dataset.slow = 'done';
  }

  async draw_curve(current) {
    const { axis, metric } = this.state.view, [from, to] = this.ends(), rows = [], refused = new Set();
    if (!metrics[metric]) return;
    for (const side of this.sides())
      for (const value of this.values_with_question(side, axis, from, to)) {
        const [asked, files] = this.question_at(side, axis, value);
        const reply = await this.slow.ask('point', 'point', asked, files);
        if (!reply || !current()) return;
        const row = reply.answer ? curve_row(side.toUpperCase(), value, reply.answer, metric, String(value) === this.value_of(side, axis)) : null;
        if (row) rows.push(row);
        else refused.add(`${side.toUpperCase()} at ${value}`);
        if (row) await this.curve.set({ curve: rows });
      }
    if (rows.length === 0) await this.curve.set({ curve: [] });
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
    const { answer } = this.views[side], chart = this.tile_charts[side], choice = this.state[side];
    chart.place.hidden = !answer?.tile;
    if (!answer?.tile) {
      chart.note.textContent = 'No tiles for this question.';
      return;
    }
    const [asked, files] = this.question(side);
    const reply = await this.slow.ask('tiles', 'tiles', [...asked.filter(([name]) => name !== 'tile'), ['tile', answer.tile]], files);
    if (!reply || !current()) return;
    if (reply.error || reply.answer.axes.length < 2) {
      chart.note.textContent = reply.error ? reply.error.replace(/^error: /, '') : 'This schedule has fewer than two tile sizes.';
      chart.place.hidden = true;
      return;
    }
    const rows = tile_rows(reply.answer, this.state.view.tiles, answer.tile), heights = new Set(rows.map((r) => r.y)).size;
    const shape = `${reply.answer.axes} ${heights} ${this.state.view.tiles}`;
    if (chart.shape !== shape) {
      chart.chart?.remove();
      chart.shape = shape;
      const choose = (tile) => { if (chart.rows.some((row) => row.id === tile && row.ok && row.built)) this.forms[side].take('tile', tile); };
      chart.chart = new Chart(chart.place, tiles(`tile ${reply.answer.axes[1]}`, `tile ${reply.answer.axes[0]}`, this.state.view.tiles === 'seconds' ? 'time' : 'L2 bytes', heights), { choose });
    }
    const built = rows.filter((r) => r.ok && r.built).length;
    chart.note.textContent = `${rows.filter((r) => r.ok).length} of ${rows.length} tiles fit${built < rows.filter((r) => r.ok).length ? `, ${built} are built` : ''}. Choose one to take it${choice.tile ? '; empty the tile field for the best one' : ''}.`;
    chart.rows = rows;
    await chart.chart.set({ cells: rows });
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
