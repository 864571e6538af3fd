// Draws the charts, wires the controls, fills the table. All numbers come from the JSON in this page.
(async () => {
  'use strict';
  // The numbers and the chart library stand in the page as gzip in base64.
  async function unpacked(id) {
    const packed = atob(document.getElementById(id).textContent.trim());
    const stream = new Blob([Uint8Array.from(packed, (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  }
  const data = JSON.parse(await unpacked('report-data'));
  const views = new Map(); // chart id -> Vega view
  const text_of = (value) => (value === null || value === undefined ? '–' : String(value));

  // ---- numbers -------------------------------------------------------------------------------------------------
  const thousands = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
  const prefixes = ['f', 'p', 'n', 'µ', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];

  function with_prefix(value, unit) {
    if (value === 0) return `0 ${unit}`.trim();
    const step = Math.max(-5, Math.min(6, Math.floor(Math.log10(Math.abs(value)) / 3)));
    return `${Number((value / 1000 ** step).toPrecision(4))} ${prefixes[step + 5]}${unit}`.trim();
  }

  function quantity_text(unit, value) {
    if (value === null) return '–';
    if (unit === 's' || unit === 'Hz' || !Number.isInteger(value)) return with_prefix(value, unit);
    return `${thousands.format(value)} ${unit}`.trim();
  }

  function error_text(ratio) {
    if (ratio === null) return '–';
    const percent = (ratio - 1) * 100;
    if (percent === 0) return '0 %';
    const sign = percent > 0 ? '+' : '−';
    const size = Math.abs(percent);
    return size < 0.005 ? '< 0.01 %' : `${sign}${size >= 1000 ? thousands.format(size) : size.toFixed(size >= 10 ? 1 : 2)} %`;
  }

  // ---- charts: drawn when they are scrolled to -----------------------------------------------------------------
  let library; // the chart library, unpacked once
  async function unpack_library() {
    const text = await unpacked('chart-library');
    const script = document.createElement('script');
    script.textContent = text;
    document.head.append(script);
    return text;
  }

  const waiting = new Map(); // place -> spec
  let turn = Promise.resolve(); // one chart after the other
  function draw_soon(place) {
    const spec = waiting.get(place);
    if (!spec) return;
    waiting.delete(place);
    turn = turn.then(() => draw(place, spec));
  }

  async function draw(place, spec) {
    try {
      await (library ??= unpack_library());
      const view = await chart(place, spec);
      views.set(place.id, view);
      for (const select of document.querySelectorAll('select[data-signal]')) if (place.id.startsWith(select.dataset.charts)) set_signal(view, select.dataset.signal, select.value);
      await view.runAsync();
      place.style.minHeight = '';
      TilescopeChart.equip(place, view, spec, { choose: choose_point });
    } catch (error) {
      // One chart that cannot be drawn takes nothing else with it, and says so where it would be.
      place.className = 'chart error';
      place.textContent = `This chart could not be drawn: ${error.message}`;
      console.error(`${place.id}: ${error.message}`);
    }
    if (waiting.size === 0) document.documentElement.dataset.drawn = 'all';
  }

  async function chart(place, spec) {
    const datasets = { ...spec.datasets, points: data.points, rows, records };
    const result = await vegaEmbed(place, { ...spec, config: data.config, datasets }, {
      mode: 'vega-lite',
      renderer: 'svg', // CSS properties reach into SVG: dark mode and print need no second drawing
      actions: false,
      ast: true, // expressions are interpreted, so the page needs no eval
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true, theme: 'page' },
    });
    return result.view;
  }

  function watch_charts() {
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) watcher.unobserve(entry.target), draw_soon(entry.target);
      turn = turn.then(() => { document.documentElement.dataset.ready = 'yes'; });
    }, { rootMargin: '200px' });
    for (const [id, spec] of Object.entries(data.charts)) {
      const place = document.getElementById(id);
      if (!place) continue;
      place.style.minHeight = `${spec.height}px`;
      waiting.set(place, spec);
      watcher.observe(place);
    }
    if (waiting.size === 0) document.documentElement.dataset.ready = document.documentElement.dataset.drawn = 'yes';
    const draw_open = () => { for (const place of [...waiting.keys()]) if (place.clientWidth > 0) draw_soon(place); };
    window.addEventListener('beforeprint', draw_open);
    matchMedia('print').addEventListener('change', draw_open);
  }

  // ---- controls, and the address that holds them ---------------------------------------------------------------
  const selects = [...document.querySelectorAll('select[data-signal]')];
  const name_of = (select) => `${select.dataset.charts}${select.dataset.signal}`;

  function set_signal(view, name, value) {
    try { view.signal(name, value); } catch { /* this chart has no such control */ }
  }

  function apply(select) {
    for (const [id, view] of views)
      if (id.startsWith(select.dataset.charts)) { set_signal(view, select.dataset.signal, select.value); view.runAsync(); }
    if (select.dataset.signal === 'point') show_point(select.value);
  }

  // "#point?point=3&rooflinelevel=l2": the section, and every control that is not at its first choice.
  function keep_in_address() {
    const chosen = selects.filter((s) => s.value !== first_choice.get(s)).map((s) => `${encodeURIComponent(name_of(s))}=${encodeURIComponent(s.value)}`);
    const section = location.hash.slice(1).split('?')[0];
    history.replaceState(null, '', chosen.length ? `#${section || 'answer'}?${chosen.join('&')}` : `#${section}`);
  }

  const first_choice = new Map(selects.map((s) => [s, s.value]));
  function take_from_address() {
    const [section, query] = location.hash.slice(1).split('?');
    const wanted = new URLSearchParams(query ?? '');
    for (const select of selects) {
      const value = wanted.get(name_of(select));
      if (value !== null && [...select.options].some((o) => o.value === value) && select.value !== value) { select.value = value; apply(select); }
    }
    const target = section && document.getElementById(section);
    if (!target) return;
    const folded = target.querySelector(':scope > details');
    if (folded) folded.open = true;
    if (query !== undefined) target.scrollIntoView();
  }

  function choose_point(key) {
    const select = selects.find((s) => s.dataset.signal === 'point');
    if (!select || ![...select.options].some((o) => o.value === key)) return;
    select.value = key;
    apply(select);
    keep_in_address();
  }

  function wire_controls() {
    for (const select of selects) {
      select.addEventListener('change', () => { apply(select); keep_in_address(); });
      if (select.dataset.signal === 'point') show_point(select.value);
    }
    window.addEventListener('hashchange', take_from_address);
    take_from_address();
    document.getElementById('licences').addEventListener('toggle', async (event) => {
      const text = await (library ??= unpack_library());
      event.target.querySelector('pre').textContent = text.slice(0, text.indexOf('*/')).replace(/^\/\*\s*/, '');
    });
  }

  function show_point(key) {
    const point = data.points.find((p) => p.key === key);
    const place = document.getElementById('point-facts');
    if (point && place) place.textContent = point.facts;
  }

  // ---- table ---------------------------------------------------------------------------------------------------
  const percent = (fraction) => `${Number((fraction * 100).toPrecision(4))} %`;
  const rows = data.rows.map(([place, index, predicted, measured, ratio, tolerance, verdict]) => {
    const [quantity, level, name, unit] = data.quantities[index];
    const known = typeof place === 'number' ? data.points[place] : { id: place[0], label: place[0], kernel: place[1] };
    return {
      point: known.id, label: known.label, kernel: known.kernel, quantity, level, name, predicted, measured, ratio, tolerance, verdict,
      predicted_text: quantity_text(unit, predicted), measured_text: quantity_text(unit, measured), error: error_text(ratio),
      tolerance_text: tolerance === null ? '–' : tolerance === 0 ? 'exact' : `± ${percent(tolerance)}`,
    };
  });
  const records = data.records.rows.map((row) => Object.fromEntries(data.records.columns.map((name, i) => [name, row[i]])));
  const verdict_words = { pass: 'within', fail: 'outside', info: 'no tolerance', '': 'not compared' };
  const compared = rows.some((r) => r.measured !== null);
  const columns = [
    { title: 'Point', key: (r) => r.label },
    ...(rows.every((r) => r.label.startsWith(r.kernel)) ? [] : [{ title: 'Kernel', key: (r) => r.kernel }]), // labels that open with the kernel say it already
    { title: 'Quantity', key: (r) => r.name },
    { title: 'Predicted', key: (r) => r.predicted, show: (r) => r.predicted_text, number: true },
    ...(compared ? [
      { title: 'Measured', key: (r) => r.measured, show: (r) => r.measured_text, number: true },
      { title: 'Error', key: (r) => (r.ratio === null ? null : Math.abs(r.ratio - 1)), show: (r) => r.error, number: true },
      { title: 'Tolerance', key: (r) => r.tolerance, show: (r) => r.tolerance_text, number: true },
      { title: 'Verdict', key: (r) => verdict_words[r.verdict] ?? r.verdict },
    ] : []), // a page of predictions has nothing to compare
  ];
  const order = { column: -1, descending: false };

  function compare(a, b) {
    if (a === b) return 0;
    if (a === null) return 1; // what is not there goes last, in both directions
    if (b === null) return -1;
    const forward = typeof a === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true });
    return order.descending ? -forward : forward;
  }

  function chosen_rows() {
    const words = document.getElementById('filter-text').value.toLowerCase().split(/\s+/).filter(Boolean);
    const quantity = document.getElementById('filter-quantity').value;
    const verdict = document.getElementById('filter-verdict').value;
    const chosen = rows.filter((r) => {
      if (quantity && r.name !== quantity) return false;
      if (verdict && (verdict === '-' ? r.verdict !== '' : r.verdict !== verdict)) return false;
      const all = `${r.label} ${r.point} ${r.kernel} ${r.name} ${r.quantity}`.toLowerCase();
      return words.every((word) => all.includes(word));
    });
    if (order.column >= 0) chosen.sort((a, b) => compare(columns[order.column].key(a), columns[order.column].key(b)));
    return chosen;
  }

  function fill_table() {
    const chosen = chosen_rows();
    const body = document.createElement('tbody');
    for (const row of chosen) {
      const line = body.insertRow();
      line.className = row.verdict;
      for (const column of columns) {
        const cell = line.insertCell();
        cell.textContent = column.show ? column.show(row) : text_of(column.key(row));
        if (column.number) cell.className = 'n';
        if (column.title === 'Verdict') cell.className = 'verdict';
      }
    }
    document.querySelector('#numbers tbody').replaceWith(body);
    document.getElementById('row-count').textContent = `${thousands.format(chosen.length)} of ${thousands.format(rows.length)} rows`;
  }

  function build_head() {
    if (!compared) document.getElementById('filter-verdict').closest('.control').style.display = 'none';
    const line = document.querySelector('#numbers thead').insertRow();
    columns.forEach((column, i) => {
      const cell = document.createElement('th');
      cell.scope = 'col';
      if (column.number) cell.className = 'n';
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = column.title;
      button.addEventListener('click', () => {
        order.descending = order.column === i ? !order.descending : Boolean(column.number);
        order.column = i;
        for (const other of line.cells) other.removeAttribute('aria-sort');
        cell.setAttribute('aria-sort', order.descending ? 'descending' : 'ascending');
        fill_table();
      });
      cell.append(button);
      line.append(cell);
    });
  }

  // ---- CSV -----------------------------------------------------------------------------------------------------
  const csv_cell = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  function csv_of(chosen) {
    const names = ['point', 'label', 'kernel', 'quantity', 'level', 'predicted', 'measured', 'ratio', 'tolerance', 'verdict'];
    return [names.join(','), ...chosen.map((r) => names.map((name) => csv_cell(r[name])).join(','))].join('\n') + '\n';
  }

  function download_csv() {
    const address = URL.createObjectURL(new Blob([csv_of(chosen_rows())], { type: 'text/csv;charset=utf-8' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = 'tilescope-report.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  // ---- start ---------------------------------------------------------------------------------------------------
  if (document.getElementById('numbers')) {
    const quantities = document.getElementById('filter-quantity');
    for (const name of [...new Set(rows.map((r) => r.name))]) quantities.add(new Option(name, name));
    build_head();
    for (const id of ['filter-text', 'filter-quantity', 'filter-verdict']) document.getElementById(id).addEventListener('input', fill_table);
    document.getElementById('download-csv').addEventListener('click', download_csv);
    document.getElementById('numbers').closest('details').addEventListener('toggle', fill_table, { once: true });
  }
  wire_controls();
  watch_charts();
})();
