// One's own operator the whole way: a derived schedule is saved, then predicted on GPUs, with the counts of derive.
#include "derive/saved/saved_schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/data_directory.h"
#include "base/files.h"
#include "derive/symbolic/counted.h"
#include "request/answer.h"
#include "request/compared.h"
#include "request/searched.h"

namespace tilescope::request_saved_schedule_test {
namespace {

// Bytes of each array across L2 <-> SM where every value has four, by the symbolic counts.
std::map<std::string, std::int64_t> counted_bytes(const Answer& answered) {
  const Schedule& schedule = answered.plan.schedule;
  const Counted counted(schedule, false);
  const std::span<const std::int64_t> tiles{answered.point.tiles.data(), schedule.parameters.size()};
  const std::vector<std::int64_t> outputs = counted.at(schedule, answered.point.workload, {}, tiles);
  std::map<std::string, std::int64_t> bytes;
  for (std::size_t t = 0; t < counted.symbolic.terms.size(); ++t)
    bytes[schedule.diagram.array(counted.symbolic.terms[t].array).name] += 4 * outputs[t];
  return bytes;
}

std::map<std::string, std::int64_t> predicted_bytes(const Answer& answered) {
  std::map<std::string, std::int64_t> bytes;
  for (const Term& term : answered.prediction.terms)
    if (term.boundary == Boundary::l2 && term.array >= 0)
      bytes[answered.plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name] += term.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("every shipped diagram is derived, saved and predicted on GPUs of all kinds, with the counts of derive") {
  const TemporaryDirectory directory("saved");
  int predictions = 0;
  for (const std::string& name : shipped_names(data_directory() / "models" / "diagrams")) {
    if (name == "attention_sink_window") continue;  // takes seconds
    CAPTURE(name);
    const Workload workload{2, 16, 16, 1024, 1024, 64, 64};
    const Derivation derivation = derive({.diagram = find_diagram(name, data_directory() / "models"),
                                          .workload = workload,
                                          .ranked = 3,
                                          .run_programs = false},
                                         data_directory() / "none");
    for (std::size_t rank = 0; rank < derivation.ranked.size(); ++rank) {
      CAPTURE(rank);
      const std::string file = directory.path() / "saved.yaml";
      write_file(file, saved_schedule(derivation, rank, "saved", data_directory() / "models").yaml);
      for (const std::string gpu : {"h200_sxm", "mi300x", "b200_sxm", "rtx4090"}) {
        CAPTURE(gpu);
        Options options;
        const auto give = [&](const std::string& option, const std::string& value) {
          options = options.with(option, value);
        };
        give("hardware", gpu), give("schedule", file), give("dtype", "fp32"), give("l2", "closed");
        const bool sized = std::any_of(derivation.request.diagram.axes.begin(), derivation.request.diagram.axes.end(),
                                       [](const Axis& axis) { return axis.extent.has_value(); });
        if (sized)
          give("batch", "2"), give("heads-q", "16"), give("heads-kv", "16"), give("q-len", "1k"), give("kv-len", "1k"),
              give("head-dim", "64"), give("v-head-dim", "64");
        const Answer answered = answer(options);
        CHECK(std::isfinite(answered.prediction.time.total));
        CHECK(answered.prediction.time.total > 0);
        const auto shown = [](const std::map<std::string, std::int64_t>& bytes) {
          std::string text;
          for (const auto& [array, count] : bytes) text += fmt::format("{} {}, ", array, count);
          return text;
        };
        CHECK(shown(predicted_bytes(answered)) == shown(counted_bytes(answered)));
        ++predictions;
      }
    }
  }
  CHECK(predictions > 100);
}

}  // namespace tilescope::request_saved_schedule_test
