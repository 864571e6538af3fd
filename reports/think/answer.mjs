// One configuration's answer: sentence, numbers, charts, command and JSON.
import { Chart, bars, roofline, traffic } from './charts.mjs';
import { element } from './form.mjs';
import { gain_rows, most_parts, part_rows, roofline_rows, traffic_rows } from './pictures.mjs';
import { facts_of, sentence_of } from './sentences.mjs';
import { command_of } from './state.mjs';

export class AnswerView {
  constructor(side, save) {
    this.side = side;
    const place = (name) => element('div', { class: 'chart', id: `${name}-${side}` });
    const figure = (heading, chart) => element('figure', {}, element('h3', {}, heading), chart);
    this.lead = element('p', { class: 'lead', role: 'status', 'aria-live': 'polite' });
    this.refusal = element('p', { class: 'refusal', role: 'alert', hidden: true });
    this.facts = element('dl', { class: 'facts' });
    this.places = { roofline: place('roofline'), traffic: place('traffic'), parts: place('parts'), gains: place('gains') };
    this.charts = Object.fromEntries(Object.entries(this.places).map(([name, at]) => [name, new Chart(at)]));
    this.pictures = element('div', { class: 'pictures' }, figure('Roofline', this.places.roofline),
      element('div', { class: 'small' }, figure('Traffic', this.places.traffic), figure('Where the time goes', this.places.parts), figure('What 10 % more of one thing would save', this.places.gains)));
    this.command = element('pre', { class: 'command', tabindex: '0', 'aria-label': 'Command line' });
    this.json = element('pre', { class: 'json', tabindex: '0', 'aria-label': 'JSON' });
    this.folded = element('details', { id: `json-${side}` }, element('summary', {}, 'The same at the command line, and its JSON'), this.command,
      element('div', { class: 'bar' }, element('button', { type: 'button', id: `save-json-${side}`, on: { click: () => save(this.text) } }, 'Save JSON')), this.json);
    this.folded.addEventListener('toggle', () => this.show_json());
    this.root = element('div', { class: `side answer ${side}`, id: `answer-${side}` }, element('h3', { class: 'title' }, element('b', { class: 'name' }, side.toUpperCase()), 'Configuration'), this.lead, this.refusal, this.facts, this.pictures, this.folded);
  }

  refuse(message) {
    this.answer = null;
    this.lead.textContent = '';
    this.refusal.textContent = message;
    this.refusal.hidden = false;
    this.facts.hidden = this.pictures.hidden = this.folded.hidden = true;
  }

  say(answer, choice, text) {
    this.answer = answer;
    this.text = text;
    this.refusal.hidden = true;
    this.folded.hidden = false;
    const sentence = sentence_of(answer);
    if (this.lead.textContent !== sentence) this.lead.textContent = sentence;
    const facts = facts_of(answer);
    this.facts.hidden = facts.length === 0;
    this.facts.replaceChildren(...facts.map(([name, value]) => element('div', { class: 'fact' }, element('dt', {}, name), element('dd', {}, value))));
    this.pictures.hidden = !answer.prediction.traffic;
    this.command.textContent = command_of(choice);
    this.show_json();
  }

  show_json() { if (this.folded.open) this.json.textContent = this.text; }

  // The frames are those of all answers shown, so that they can be compared.
  draw(frames, height) {
    if (!this.answer?.prediction.traffic) return Promise.resolve();
    const { charts, answer } = this, levels = answer.prediction.traffic.length;
    const [parts, most] = part_rows(answer), [gains, most_gain] = gain_rows(answer);
    const drawing = [charts.traffic.set(levels, () => traffic(levels), ...traffic_rows(answer, frames.traffic))];
    const timed = Boolean(answer.prediction.time?.seconds);
    for (const [name, shown] of [['roofline', timed], ['parts', timed], ['gains', gains.length > 0]]) this.places[name].parentElement.hidden = !shown;
    if (timed) {
      drawing.push(charts.roofline.set(height, () => roofline(height), ...roofline_rows(answer, frames.roofline, height)));
      drawing.push(charts.parts.set('parts', () => bars('Parts of the predicted time, largest first.', 'var(--issue)', most_parts), { parts }, { most }));
    }
    if (gains.length > 0) drawing.push(charts.gains.set('gains', () => bars('Part of the time that 10 percent more of one thing would save, largest first.', 'var(--smem)', most_parts), { parts: gains }, { most: most_gain }));
    return Promise.all(drawing);
  }
}
