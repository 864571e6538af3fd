#include "cli/input/answer.h"

#include "base/error.h"
#include "cli/input/best_tile.h"
#include "predict/predict.h"

namespace tilescope::cli {
namespace {

void apply_l2(Point& point, const Arguments& arguments) {
  const bool closed = arguments.text("l2") == "closed";
  point.l2 = closed ? L2Model::closed : L2Model::walk;
  const auto drift = arguments.integer("drift", 0, 100);
  if (drift && closed) refuse("--drift", "is of the walk; leave it out or say --l2 walk");
  point.drift = static_cast<double>(drift.value_or(0)) / 100;
}

}  // namespace

std::vector<OptionSpec> l2_options() {
  return {{"l2",
           "how DRAM bytes are found: walk (default), all blocks through a model of the cache, or closed, a formula "
           "over waves of blocks",
           Value::choice,
           {"walk", "closed"}},
          {"drift", "of the walk, in percent: blocks' steps take up to so much longer, by a fixed sequence (default 0)",
           Value::count}};
}

JsonOptions recorded_errors(const Plan& plan, const HardwareProfile& hardware, const std::string& regime) {
  if (plan.assumed) return {};
  const auto error = [&](const char* quantity) {
    return recorded_error(data_directory() / "validate" / "errors.json", hardware.id, plan.kernel.name, quantity,
                          regime);
  };
  return {.error = error("seconds"), .dram_error = error("hbm_read_bytes")};
}

Answer answer(const Arguments& arguments) {
  Answer a{read_plan(arguments), read_hardware(arguments), {}, {}, {}};
  a.point = read_point(arguments, a.plan);
  settle_tile(a.plan, a.hardware, a.point, tile_given(arguments), search_options(arguments, a.plan));
  apply_l2(a.point, arguments);
  predict(a.plan, a.hardware, a.point, a.prediction);
  a.options = recorded_errors(a.plan, a.hardware, regime_of(a.prediction));
  return a;
}

ExitStatus status_of(const Prediction& prediction) {
  return prediction.feasible ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
