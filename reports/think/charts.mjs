// The charts as Vega-Lite specifications. Data and axis ends are set later, without drawing a chart anew.
import { levels } from './looks.mjs';

const quiet = 'var(--ink-2)';
const config = { // that of the report pages (src/report/charts/chart.cpp)
  mark: { aria: false },
  background: 'transparent',
  font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
  view: { stroke: null },
  axis: { labelColor: quiet, titleColor: 'var(--ink)', titleFontWeight: 500, titleFontSize: 12, labelFontSize: 12, gridColor: 'var(--grid)', domainColor: 'var(--rule)', tickColor: 'var(--rule)', titlePadding: 10, labelPadding: 6 },
  text: { color: 'var(--ink)', fontSize: 12 },
  rule: { color: 'var(--rule)' },
};

const base = (description, height) => ({
  $schema: 'https://vega.github.io/schema/vega-lite/v6.json', description, width: 'container', height, autosize: { type: 'fit-x', contains: 'padding' }, config,
});
const param = (name, value) => ({ name, value });
const by_level = (of) => ({ field: 'level', type: 'nominal', legend: null, scale: { domain: levels.map((l) => l.key), range: levels.map(of) } });
const colour = by_level((l) => l.colour);
const title = (field, name) => ({ field, title: name });
const halo = (layer) => ({ ...layer, mark: { ...layer.mark, stroke: 'var(--paper)', strokeWidth: 4, strokeJoin: 'round', color: 'var(--paper)' }, encoding: { ...layer.encoding, color: undefined } });

// A logarithmic axis whose ends and ticks are signals.
const log_axis = (field, name, axis_title) => ({
  field, type: 'quantitative', title: axis_title,
  scale: { type: 'log', nice: false, domainMin: { expr: `${name}0` }, domainMax: { expr: `${name}1` } },
  axis: { values: { expr: `${name}ticks` }, format: '~s', labelOverlap: true },
});
const axis_params = (name) => [param(`${name}0`, 1), param(`${name}1`, 10), param(`${name}ticks`, [1, 10])];

export function roofline(height) {
  const x = (field = 'x') => log_axis(field, 'x', 'Arithmetic intensity at the level (FLOP per byte)');
  const y = (field = 'y') => log_axis(field, 'y', 'Performance (FLOP/s)');
  const angle = { expr: '-atan((height / log(y1 / y0)) / (width / log(x1 / x0))) * 180 / PI' };
  const roof = {
    data: { name: 'roofs' }, mark: { type: 'rule', strokeWidth: 2, clip: true },
    encoding: { x: x(), y: y(), x2: { field: 'x2' }, y2: { field: 'y2' }, color: colour, strokeDash: by_level((l) => l.dash), tooltip: [title('name', 'roof'), title('rate', 'rate'), title('basis', 'basis')] },
  };
  const peak = { data: { name: 'peaks' }, mark: { type: 'rule', strokeWidth: 2, color: 'var(--ink)', clip: true }, encoding: { x: x(), y: y(), x2: { field: 'x2' }, tooltip: [title('label', 'peak')] } };
  const roof_name = { data: { name: 'roofs' }, mark: { type: 'text', align: 'left', baseline: 'bottom', angle, dx: { expr: 'datum.shift' }, dy: -3, fontSize: 11, fontWeight: 600 }, encoding: { x: x(), y: y(), text: { field: 'label' }, color: colour } };
  const peak_name = { data: { name: 'peaks' }, mark: { type: 'text', align: 'right', dy: -8, fontSize: 11, fontWeight: 600 }, encoding: { x: x('x2'), y: y(), text: { field: 'label' } } };
  const mark = {
    data: { name: 'marks' }, mark: { type: 'point', filled: true, size: 120, strokeWidth: 1.6, clip: true },
    encoding: { x: x(), y: y(), stroke: colour, fill: { value: 'var(--paper)' }, shape: by_level((l) => l.shape), tooltip: [title('name', 'level'), title('intensity', 'FLOP per byte'), title('rate', 'performance'), title('bytes', 'bytes')] },
  };
  return {
    ...base('Roofline: performance over arithmetic intensity, both logarithmic, a roof and a mark for each memory level.', height),
    params: [...axis_params('x'), ...axis_params('y')], datasets: { roofs: [], peaks: [], marks: [] },
    layer: [roof, peak, mark, halo(peak_name), peak_name, halo(roof_name), roof_name],
  };
}

// Bytes of each level as dots on one logarithmic axis: reads filled, writes hollow.
export function traffic(levels_shown) {
  const x = log_axis('bytes', 'x', 'Bytes (logarithmic)');
  const y = { field: 'name', type: 'nominal', title: null, sort: null, axis: { domain: false, ticks: false, grid: true } };
  return {
    ...base('Bytes that each memory level serves and takes: filled marks are read, hollow marks written. A rule marks the compulsory bytes.', 40 + 28 * levels_shown),
    params: axis_params('x'), datasets: { bytes: [], least: [] },
    layer: [
      { data: { name: 'least' }, mark: { type: 'rule', color: 'var(--ink)', strokeDash: [3, 3] }, encoding: { x, tooltip: [title('text', 'compulsory bytes')] } },
      {
        data: { name: 'bytes' }, mark: { type: 'point', filled: true, size: 110, strokeWidth: 1.6 },
        encoding: { x, y, shape: by_level((l) => l.shape), stroke: colour, fill: { condition: { test: "datum.direction == 'read'", ...{ field: 'level', type: 'nominal', legend: null, scale: colour.scale } }, value: 'var(--paper)' }, tooltip: [title('name', 'level'), title('direction', 'direction'), title('text', 'bytes')] },
      },
    ],
  };
}

// Bars with their names above them, largest first.
export function bars(description, fill, most) {
  const y = { field: 'n', type: 'ordinal', axis: null, scale: { domain: [...Array(most).keys()] } };
  return {
    ...base(description, 36 * most), params: [param('most', 1)], datasets: { parts: [] }, data: { name: 'parts' },
    layer: [
      { mark: { type: 'bar', height: 10, yOffset: 9, stroke: 'var(--ink)', strokeWidth: 0.7 }, encoding: { y, x: { field: 'share', type: 'quantitative', title: null, scale: { domainMin: 0, domainMax: { expr: 'most' }, nice: false }, axis: { format: '~%', tickCount: 4 } }, color: { value: fill }, tooltip: [title('text', 'part')] } },
      { mark: { type: 'text', align: 'left', baseline: 'bottom', dy: 1 }, encoding: { y, x: { value: 0 }, text: { field: 'text' } } },
    ],
  };
}

export function curve(x_title, y_title, logarithmic) {
  const side = (of) => ({ field: 'side', type: 'nominal', legend: null, scale: { domain: ['A', 'B'], range: of } });
  const ends = (name) => ({ nice: false, domainMin: { expr: `${name}0` }, domainMax: { expr: `${name}1` } });
  const x = { field: 'x', type: 'quantitative', title: x_title, scale: { type: 'log', base: 2, ...ends('x') }, axis: { format: ',d', labelOverlap: true, values: { expr: 'xticks' } } };
  const y = { field: 'y', type: 'quantitative', title: y_title, scale: logarithmic ? { type: 'log', ...ends('y') } : { ...ends('y') }, axis: { format: '~s', labelOverlap: true, values: { expr: 'yticks' } } };
  const dashed = side([[1, 0], [6, 4]]);
  return {
    ...base(`Curve of ${y_title} over ${x_title}; A is a full line with filled marks, B a dashed one with hollow marks. A ring is the question.`, 320),
    params: [...axis_params('x'), ...axis_params('y')], datasets: { curve: [] }, data: { name: 'curve' },
    layer: [
      { mark: { type: 'line', strokeWidth: 2 }, encoding: { x, y, color: side(['var(--hbm)', 'var(--l2)']), strokeDash: dashed } },
      { mark: { type: 'point', size: 320, filled: false, color: 'var(--ink)', strokeWidth: 1.6 }, encoding: { x, y, opacity: { condition: { test: 'datum.here', value: 1 }, value: 0 } } },
      {
        mark: { type: 'point', filled: true, size: 60, strokeWidth: 1.6 },
        encoding: { x, y, stroke: side(['var(--hbm)', 'var(--l2)']), fill: side(['var(--hbm)', 'var(--paper)']), shape: side(['circle', 'square']), tooltip: [title('side', 'configuration'), title('at', x_title), title('text', y_title), title('tile', 'tile'), title('bound', 'bound by')] },
      },
    ],
  };
}

export function tiles(x_title, y_title, metric, rows) {
  const axis = (field, name, order) => ({ field, type: 'ordinal', title: name, sort: order, axis: { domain: false, ticks: false, labelAngle: 0 }, scale: { paddingInner: 0.04 } });
  const x = axis('x', x_title, 'ascending'), y = axis('y', y_title, 'descending');
  const tooltip = [title('tile', 'tile'), title('seconds_text', 'predicted time'), title('l2_text', 'L2 bytes'), title('fits', 'fits')];
  const chosen = (value, otherwise) => ({ condition: { test: 'datum.here', value }, value: otherwise });
  return {
    ...base(`Tiles: ${metric} of each pair of tile sizes, a stronger tint is less. A cross marks a tile that does not fit. Enter takes a tile.`, Math.max(120, rows * 42)),
    datasets: { cells: [] }, data: { name: 'cells' },
    layer: [
      {
        transform: [{ filter: 'datum.ok' }], mark: { type: 'rect', cursor: 'pointer' },
        encoding: { x, y, tooltip, stroke: chosen('var(--ink)', 'var(--rule)'), strokeWidth: chosen(3, 1), color: { field: 'v', type: 'quantitative', legend: null, scale: { type: 'quantize', zero: false, nice: false, range: [5, 4, 3, 2, 1].map((n) => `var(--heat-${n})`) } } },
      },
      { transform: [{ filter: '!datum.ok' }], mark: { type: 'rect', fill: 'var(--paper)', stroke: 'var(--rule)', strokeDash: [3, 3] }, encoding: { x, y, tooltip } },
      { transform: [{ filter: 'datum.ok' }], mark: { type: 'text', fontSize: { expr: "bandwidth('x') < 42 ? 8 : 11" } }, encoding: { x, y, text: { field: 'text' }, tooltip } },
      { transform: [{ filter: '!datum.ok' }], mark: { type: 'text', text: '×', fontSize: 18, color: 'var(--ink-2)' }, encoding: { x, y, tooltip } },
    ],
  };
}

// A chart in its place. The first data draw it; later ones only move what is drawn. Another shape (other heights or titles)
// is another chart.
export class Chart {
  constructor(place, { choose = () => {} } = {}) {
    Object.assign(this, { place, choose, shape: null, turn: Promise.resolve() });
  }

  // `spec` is called where the shape is new.
  set(shape, spec, data, signals = {}) {
    this.turn = this.turn.then(async () => {
      if (this.shape === shape) {
        for (const [name, value] of Object.entries(signals)) this.view.signal(name, value);
        for (const [name, rows] of Object.entries(data)) this.view.data(name, rows);
        await this.view.runAsync();
      } else {
        this.clear();
        this.shape = shape;
        await this.make(spec(), data, signals);
      }
    });
    return this.turn;
  }

  async make(empty, data, signals) {
    const spec = { ...empty, datasets: data, params: (empty.params ?? []).map((p) => param(p.name, signals[p.name] ?? p.value)) };
    const { view } = await window.vegaEmbed(this.place, spec, { mode: 'vega-lite', renderer: 'svg', actions: false, ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true, theme: 'page' } });
    this.view = view;
    TilescopeChart.equip(this.place, view, spec, { choose: (key) => { if (key) this.choose(key); } });
  }

  clear() {
    this.shape = null;
    this.view?.finalize();
    this.view = null;
    this.place.parentElement?.querySelectorAll('.save').forEach((bar) => bar.remove());
    this.place.replaceChildren();
  }
}
