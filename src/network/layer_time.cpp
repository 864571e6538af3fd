#include "network/layer_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "request/answer.h"

namespace tilescope {
namespace {

// The formats of activations and weights of a matmul.
std::string first_format(const std::string& dtype) { return split(dtype, ',').front(); }

}  // namespace

LayerTimes::LayerTimes(const ModelQuestion& question, const std::string& gpu, const std::string& basis,
                       std::string dtype, std::string kernel)
    : question_(question), dtype_(std::move(dtype)), kernel_(std::move(kernel)) {
  common_ = common_.with("hardware", gpu).with("l2", question.l2);
  if (!basis.empty()) common_ = common_.with("basis", basis);
}

Options options_of_call(const ModelQuestion& question, const AttentionCall& call, const std::string& dtype) {
  const Workload& w = call.workload;
  Options options;
  const auto set = [&](const char* name, std::int64_t value) { options = options.with(name, std::to_string(value)); };
  options = options.with("dtype", dtype).with("mask", call.mask);
  set("batch", w.batch), set("heads-q", w.heads_q), set("heads-kv", w.heads_kv), set("q-len", w.q_len);
  set("kv-len", w.kv_len), set("head-dim", w.d_qk), set("v-head-dim", w.d_v);
  const bool paged = question.page > 0 && w.q_len <= 1 + question.speculative;
  const std::string diagram = paged ? call.diagram + "_paged" : call.diagram;
  if (diagram != "attention") options = options.with("diagram", diagram);
  if (paged) options = options.with("size", fmt::format("pages={}", ceil_div(w.kv_len, question.page)));
  return options;
}

Options LayerTimes::options_of(const AttentionCall& call) const {
  Options options = options_of_call(question_, call, dtype_);
  for (const std::string& name : common_.names()) options = options.with(name, *common_.text(name));
  return options;
}

CallTime LayerTimes::predicted(const Options& options) const {
  const Answer a = answer(options);
  if (!a.outside.empty()) refuse("--kernel", join(a.outside, "; "));
  if (!a.prediction.feasible) {
    const auto full = std::find_if(a.prediction.footprint.begin(), a.prediction.footprint.end(),
                                   [](const FootprintRow& row) { return !row.fits(); });
    refuse("--kernel",
           full == a.prediction.footprint.end()
               ? "no tile fits"
               : fmt::format("{} needs {} of {} bytes", to_string(full->level), full->bytes, full->capacity_bytes));
  }
  const TimePrediction& time = a.prediction.time;
  // A prediction is of a launch run after run, which may find its data in the L2. Those of a layer are not there: the
  // other layers ran in between.
  const double seconds = std::max(time.total, time.seconds[static_cast<std::size_t>(Resource::hbm)]);
  CallTime call{.seconds = seconds, .joules = time.watts * time.total, .modelled = time.modelled};
  call.kernel = a.plan.assumed ? "ideal " + a.plan.schedule.name : a.plan.kernel.name;
  call.bound_by = to_string(time.bound_by);
  const auto of = [&](Resource resource) { return time.seconds[static_cast<std::size_t>(resource)]; };
  const double moved = static_cast<double>(a.prediction.traffic.both(LevelId::hbm));
  const double once = moved > 0 ? static_cast<double>(a.prediction.compulsory_bytes) / moved : 1;
  call.least_seconds = std::max(of(Resource::hbm) * once, of(Resource::tensor));
  if (a.options.error) call.error = a.options.error->p90;
  return call;
}

// Few queries need the keys in parts to fill the GPU; many do not.
CallTime LayerTimes::ideal(const AttentionCall& call) const {
  std::optional<CallTime> best;
  std::vector<Diagnostic> refused;  // of the first schedule that cannot run
  for (const char* schedule : {"flash2", "split-kv"}) {
    try {
      const CallTime time = predicted(options_of(call).with("schedule", schedule));
      if (!best || time.seconds < best->seconds) best = time;
    } catch (const InputError& error) {
      if (refused.empty()) refused = error.diagnostics();
    }
  }
  if (!best) throw InputError(refused);
  return *best;
}

const CallTime& LayerTimes::of(const AttentionCall& call) {
  const Workload& w = call.workload;
  const std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", call.diagram, call.mask, w.batch, w.heads_q,
                                      w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  CallTime time;
  if (kernel_ == "ideal") {
    time = ideal(call);
  } else if (kernel_ != "auto") {
    time = predicted(options_of(call).without("diagram").without("size").with("kernel", kernel_));
  } else {
    try {
      time = predicted(options_of(call).with("kernel", kernel_));
    } catch (const InputError&) {
      time = ideal(call);
    }
  }
  return known_.emplace(key, std::move(time)).first->second;
}

const CallTime& LayerTimes::of_matmul(std::int64_t a, std::int64_t b, std::int64_t c) {
  const std::string key = fmt::format("matmul {} {} {}", a, b, c);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  Options options;
  const std::string plain = first_format(dtype_);
  const std::string weights = question_.weights ? to_string(*question_.weights) : plain;
  options = common_.with("schedule", "matmul");
  options = options.with("dtype", weights == plain ? plain : fmt::format("{},b={}", plain, weights));
  options = options.with("size", fmt::format("a={},b={},c={}", a, b, c));
  return known_.emplace(key, predicted(options)).first->second;
}

double matrix_seconds(const ModelQuestion& question, LayerTimes& times, Phase phase, const ContextMix& mix) {
  double sum = 0;
  const std::int64_t sequences = mix.sequences();
  const std::int64_t tokens = phase == Phase::prefill ? mix.tokens() : checked_mul(sequences, 1 + question.speculative);
  for (const Matrices& each : question.network.matrices) {
    const std::int64_t rows = each.once_a_sequence ? (phase == Phase::prefill ? sequences : tokens) : tokens;
    const std::int64_t out = each.whole ? each.out : ceil_div(each.out, question.gpus);
    // Tokens go to experts evenly; an expert without a token is not read.
    const std::int64_t uses = checked_mul(rows, each.used), active = std::min(each.copies, uses);
    const CallTime& one = times.of_matmul(ceil_div(uses, active), each.in, out);
    sum += one.least_seconds * static_cast<double>(each.layers) * static_cast<double>(active);
  }
  return sum;
}

}  // namespace tilescope
