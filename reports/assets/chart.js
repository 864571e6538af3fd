// What every drawn chart gets beside Vega: its marks by keyboard, a click that chooses a point, pictures to save.
const TilescopeChart = (() => {
  'use strict';

  const marks_of = (place) => [...place.querySelectorAll('.mark-symbol path, .mark-rect path')].filter((m) => {
    const box = m.getBoundingClientRect();
    return box.width > 0 && m.__data__?.tooltip !== undefined;
  });

  // Vega takes events at its picture; the mark is the target.
  function send(mark, type) {
    const box = mark.getBoundingClientRect();
    const at = { bubbles: true, cancelable: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
    for (const event of [new PointerEvent(`pointer${type}`, at), new MouseEvent(`mouse${type}`, at)]) mark.dispatchEvent(event);
  }

  // Arrow keys go from mark to mark, left to right; Enter chooses; Escape leaves.
  function wire_keys(place, view, choose) {
    let current = null;
    const leave = () => {
      if (!current) return;
      send(current, 'out');
      current.removeAttribute('data-current');
      current = null;
    };
    const enter = (mark) => {
      leave();
      current = mark;
      mark.setAttribute('data-current', '');
      send(mark, 'over');
      send(mark, 'move');
      const value = mark.__data__.tooltip;
      document.getElementById('spoken').textContent = typeof value === 'object' ? Object.entries(value).map(([k, v]) => `${k}: ${v}`).join(', ') : String(value);
    };
    place.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) {
        const marks = marks_of(place).sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x);
        if (marks.length === 0) return;
        const at = marks.indexOf(current);
        enter(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
        event.preventDefault();
      } else if (event.key === 'Enter' && current) {
        choose(key_of(current.__data__));
      } else if (event.key === 'Escape') {
        leave();
      }
    });
    place.addEventListener('blur', leave);
  }

  const key_of = (item) => (item?.datum && 'level' in item.datum && 'id' in item.datum ? item.datum.id : undefined);

  function has_signal(view, name) {
    try { view.signal(name); return true; } catch { return false; }
  }

  // ---- pictures ------------------------------------------------------------------------------------------------
  function standalone_svg(place) {
    const shown = place.querySelector('svg');
    const copy = shown.cloneNode(true);
    const from = [shown, ...shown.querySelectorAll('*')];
    const to = [copy, ...copy.querySelectorAll('*')];
    from.forEach((element, i) => {
      for (const paint of ['fill', 'stroke'])
        if (element.getAttribute(paint)?.includes('var(')) to[i].setAttribute(paint, getComputedStyle(element)[paint]);
    });
    const [, , width, height] = (copy.getAttribute('viewBox') ?? `0 0 ${shown.clientWidth} ${shown.clientHeight}`).split(' ');
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    paper.setAttribute('width', '100%');
    paper.setAttribute('height', '100%');
    paper.setAttribute('fill', getComputedStyle(document.documentElement).getPropertyValue('--paper').trim());
    copy.prepend(paper);
    return { text: new XMLSerializer().serializeToString(copy), width: Number(width), height: Number(height) };
  }

  function save(blob, name) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function save_svg(place) {
    save(new Blob([standalone_svg(place).text], { type: 'image/svg+xml' }), `${place.id}.svg`);
  }

  async function save_png(place) {
    const { text, width, height } = standalone_svg(place);
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await picture.decode();
    const canvas = document.createElement('canvas');
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, `${place.id}.png`), 'image/png');
  }

  function add_buttons(place) {
    const bar = document.createElement('div');
    bar.className = 'save';
    for (const [name, act] of [['SVG', save_svg], ['PNG', save_png]]) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = name;
      button.setAttribute('aria-label', `Save this chart as ${name}`);
      button.addEventListener('click', () => act(place));
      bar.append(button);
    }
    place.after(bar);
  }

  function equip(place, view, spec, { choose }) {
    place.tabIndex = 0;
    place.setAttribute('role', 'group');
    place.setAttribute('aria-label', `${spec.description} Arrow keys go from mark to mark.`);
    wire_keys(place, view, choose);
    view.addEventListener('click', (event, item) => { if (key_of(item)) choose(key_of(item)); });
    if (has_signal(view, 'hovered')) {
      const hover = (key) => { if (view.signal('hovered') !== key) view.signal('hovered', key).runAsync(); };
      view.addEventListener('pointerover', (event, item) => hover(key_of(item) ?? ''));
      view.addEventListener('pointerout', () => hover(''));
    }
    add_buttons(place);
  }

  return { equip };
})();
