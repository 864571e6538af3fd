// One configuration's answer: sentence, numbers, charts, command and JSON.
import { Chart, bars, roofline, traffic } from './charts.mjs';
import { element } from './form.mjs';
import { count, name_of, with_prefix } from './looks.mjs';
import { gain_rows, most_parts, part_rows, roofline_rows, traffic_rows } from './pictures.mjs';
import { command_of } from './state.mjs';

const rounded = (value) => Number(value.toPrecision(3));

function error_text(error) {
  if (!error) return 'Its error is not known.';
  return `Its error: mean ${rounded(100 * error.mape)} %, nine of ten within ${rounded(100 * error.p90)} %, by ${error.basis}.`;
}

// What the model says in a sentence.
export function sentence_of({ prediction }) {
  if (prediction.unsupported?.length || prediction.outside?.length) return `This kernel is not launched for these sizes: ${(prediction.unsupported ?? prediction.outside).join('; ')}.`;
  if (!prediction.feasible) {
    const { level, needed_bytes, available_bytes, largest } = prediction.infeasible;
    return `It does not fit: ${name_of(level)} needs ${count(needed_bytes)} B and has ${count(available_bytes)} B; the largest array there is ${largest}.`;
  }
  const { time } = prediction;
  if (!time?.seconds) return `No time: the profile has no rate for ${(time?.missing ?? []).join(', ') || 'a resource'}.`;
  if (time.model === 'bound') return `At least ${with_prefix(time.seconds, 's', 4)}: this GPU's time is a lower bound. The slowest resource alone is ${name_of(time.bound_by)}.`;
  return `${with_prefix(time.seconds, 's', 4)}, limited by ${name_of(time.bound_by)}. ${error_text(time.error)}`;
}

function facts_of({ prediction, tile }) {
  const { time, work, traffic: levels } = prediction;
  const facts = [];
  if (!levels) return facts;
  const hbm = levels.find((t) => t.level === 'hbm');
  if (time?.seconds) facts.push(['time', with_prefix(time.seconds, 's', 4)], ['of model FLOP', with_prefix(work.model_flop / time.seconds, 'FLOP/s')]);
  facts.push(['HBM traffic', with_prefix(hbm.read_bytes + hbm.write_bytes, 'B')], ['of the compulsory bytes', `${rounded((hbm.read_bytes + hbm.write_bytes) / prediction.compulsory_bytes)} ×`]);
  if (time?.watts) facts.push(['board power', with_prefix(time.watts, 'W')]);
  facts.push(['tile', tile || '–']);
  return facts;
}

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
