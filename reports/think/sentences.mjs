// What the page says in words and numbers of an answer.
import { count, name_of, with_prefix } from './looks.mjs';

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

export function facts_of({ prediction, tile }) {
  const { time, work, traffic: levels } = prediction;
  const facts = [];
  if (!levels) return facts;
  const hbm = levels.find((t) => t.level === 'hbm');
  if (time?.seconds) facts.push(['time', with_prefix(time.seconds, 's', 4)], ['of model FLOP', with_prefix(work.model_flop / time.seconds, 'FLOP/s')]);
  facts.push(['HBM traffic', with_prefix(hbm.read_bytes + hbm.write_bytes, 'B')], ['of the compulsory bytes', `${rounded((hbm.read_bytes + hbm.write_bytes) / prediction.compulsory_bytes)} ×`]);
  if (time?.watts) facts.push(['board power', with_prefix(time.watts, 'W')]);
  if (time?.seconds) facts.push([prediction.point.model_of, `${time.basis} rates`]);
  facts.push(['tile', tile || '–']);
  return facts;
}

// Two answers set against each other; empty where one of them has no time.
export function compared_sentence(a, b) {
  const [first, second] = [a, b].map((answer) => answer?.prediction);
  if (![first, second].every((p) => p?.feasible && p.time?.seconds)) return '';
  const bytes = (p) => p.traffic.filter((t) => t.level === 'hbm').reduce((sum, t) => sum + t.read_bytes + t.write_bytes, 0);
  const moved = rounded(bytes(second) / bytes(first));
  if (first.time.model !== second.time.model) { // a bound is not divided by a prediction
    const kind = (p) => (p.time.model === 'bound' ? 'a lower bound' : 'a prediction');
    return `Their times are not compared: A is ${kind(first)}, B ${kind(second)}. B moves ${moved} times the HBM bytes of A.`;
  }
  const alike = first.time.basis === second.time.basis;
  const warning = alike ? '' : ` They are not alike: A is from ${first.time.basis} rates, B from ${second.time.basis} rates.`;
  return `B takes ${rounded(second.time.seconds / first.time.seconds)} times as long as A and moves ${moved} times its HBM bytes.${warning}`;
}
