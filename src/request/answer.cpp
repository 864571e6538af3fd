#include "request/answer.h"

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/data_directory.h"
#include "base/parallel.h"
#include "hardware/changes.h"
#include "predict/explain/ideal/ideal_error.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "predict/rate_basis.h"
#include "request/best_tile.h"
#include "request/choose_kernel.h"

namespace tilescope {

namespace {

const IdealErrors& ideal_errors() {
  static const IdealErrors ideal = IdealErrors::load(data_directory() / "validate" / "ideal_errors.json");
  return ideal;
}

// Most processes ask for one kernel.
const ErrorBars& error_bars(const std::string& kernel) {
  const auto load = [](const std::string& of) {
    return ErrorBars::load(data_directory() / "validate" / "errors.json", of);
  };
  static const std::string first = kernel;
  static const ErrorBars own = load(first);
  if (kernel == first) return own;
  static const ErrorBars all = load({});
  return all;
}

// Whose records tell the error: a file of another author that takes a shipped kernel's name has none.
std::string measured_kernel(const Plan& plan) { return plan.shipped ? plan.kernel.name : std::string(); }

// Reads what stated_errors will look into.
void read_errors(const Plan& plan, const HardwareProfile& hardware) {
  if (!name_and_changes(hardware.id).second.empty()) return;
  if (plan.assumed) ideal_errors();
  else if (modelled_basis(hardware) == Basis::measured) error_bars(measured_kernel(plan));
}

// A GPU's file takes longer to read than a plan's. Until it `is_read`: the machine code of the tiles that are tried.
void read_ahead(const Plan& plan, const Options& options, const std::atomic<bool>& is_read) {
  if (plan.assumed || !plan.kernel.free.empty()) return;
  try {
    const Point point = read_point(options, plan);
    static const HardwareProfile none;
    for (const Point& tile : search_points(plan, none, point, search_options(options, plan), nullptr)) {
      if (is_read) return;
      read_code(plan, tile);
    }
  } catch (const std::exception&) {  // for whoever asks for it
  }
}

}  // namespace

JsonOptions stated_errors(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                          const Prediction& prediction) {
  if (!name_and_changes(hardware.id).second.empty()) return {};     // nobody measured a changed GPU
  if (prediction.feasible && !prediction.time.modelled) return {};  // records are no error of a lower bound
  const std::filesystem::path folder = data_directory() / "validate";
  if (plan.assumed) {
    if (!plan.schedule.diagram.guard) return {};  // records are of attention
    return {.error = ideal_errors().find(ideal_query(plan, hardware, point))};
  }
  if (const Basis basis = modelled_basis(hardware); basis != Basis::measured) {
    if (!hardware.measured) return {};
    return {.error = basis_error(folder / "basis_errors.json", hardware.id, hardware.chip, to_string(basis))};
  }
  const auto error = [&](const char* quantity) {
    return error_bars(measured_kernel(plan))
        .find({hardware.id, measured_kernel(plan), quantity, regime_of(prediction), error_sizes(point.workload)});
  };
  return {.error = error("seconds"), .cold_error = error("seconds_cold"), .dram_error = error("hbm_read_bytes")};
}

StartedAnswer start_answer(const Options& options) {
  std::optional<Plan> plan;
  std::optional<HardwareProfile> hardware;
  std::atomic<bool> is_read = false;
  at_once(2, [&](std::size_t i) {
    if (i == 0) hardware = read_hardware(options), is_read = true;
    else plan = read_plan(options), read_ahead(*plan, options, is_read);
  });
  StartedAnswer started{.answer = {std::move(*plan), std::move(*hardware), {}, {}, {}, {}, {}}, .tiles = {}};
  Answer& a = started.answer;
  a.point = read_point(options, a.plan);
  started.tiles = rank_tiles(a.plan, a.hardware, a.point, tile_given(options), search_options(options, a.plan));
  return started;
}

namespace {

void predict_answer(StartedAnswer& started, bool walks) {
  Answer& a = started.answer;
  std::optional<Prediction> walked = walk_tiles(a.plan, a.hardware, a.point, started.tiles);
  refuse_unsupported(a.plan, a.hardware, a.point);
  a.prediction.feasible = true;
  if (walked) {
    a.prediction = std::move(*walked);
    return;
  }
  Point point = a.point;
  if (!walks) point.l2 = L2Model::closed;
  const std::vector<StepQuestion> ahead = questions_of_gains(a.plan, a.hardware, point);
  at_once(1 + ahead.size(), [&](std::size_t i) {
    if (i == 0) predict(a.plan, a.hardware, point, a.prediction);
    else a.plan.steps->clocks(ahead[i - 1], a.hardware);
  });
}

}  // namespace

void finish_answer(StartedAnswer& started, bool walks) {
  Answer& a = started.answer;
  a.outside = outside_shapes(a.plan.kernel, a.hardware, a.point.workload);
  if (!a.outside.empty()) {
    refuse_unsupported(a.plan, a.hardware, a.point);
    a.prediction.feasible = false;
    return;
  }
  at_once(2, [&](std::size_t i) { i == 0 ? predict_answer(started, walks) : read_errors(a.plan, a.hardware); });
  a.options = stated_errors(a.plan, a.hardware, a.point, a.prediction);
}

Answer answer_of_plan(const Options& options, bool walks) {
  StartedAnswer started = start_answer(options);
  finish_answer(started, walks);
  return std::move(started.answer);
}

Answer answer(const Options& options, bool walks) {
  if (!asks_for_choice(options.text("kernel"))) return answer_of_plan(options, walks);
  KernelChoice choice = choose_kernel(options);
  const Options open = options.without("kernel");
  // `auto` compares kernels in fp16 where no format is given; a kernel's own may be another.
  if (choice.answer && read_point(open.without("diagram"), choice.answer->plan).dtypes == choice.answer->point.dtypes) {
    choice.answer->how = choice.how;
    return std::move(*choice.answer);
  }
  if (!choice.kernel.empty()) {
    Answer a = answer_of_plan(open.without("diagram").with("kernel", choice.kernel), walks);
    a.how = choice.how;
    return a;
  }
  Answer a{read_plan(open), read_hardware(open), {}, {}, {}, {}, choice.reasons};
  a.point = read_point(open, a.plan);
  a.prediction.feasible = false;
  return a;
}

Json Answer::json() const {
  Json json = outside.empty() ? to_json(plan, hardware, point, prediction, options)
                              : unsupported_json(plan, hardware, point, outside);
  if (!how.empty()) json["chosen"] = how;
  return json;
}

}  // namespace tilescope
