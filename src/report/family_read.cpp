#include <nlohmann/json.hpp>

#include "report/family.h"
#include "report/fields.h"

namespace tilescope::report {
namespace {

std::optional<ErrorSpread> read_spread(const Fields& f, const std::string& key) {
  const auto spread = f.object(key);
  if (!spread) return std::nullopt;
  return ErrorSpread{spread->number("n", true).value_or(0), spread->number("median"), spread->number("worst")};
}

FamilyNumber read_number(const Fields& f) {
  return {.quantity = f.text("quantity", true),
          .title = f.text("title", true),
          .predicted = f.number("predicted"),
          .measured = f.number("measured"),
          .ratio = f.number("ratio"),
          .absent = f.text("absent"),
          .judged = read_spread(f, "judged"),
          .not_judged = read_spread(f, "not_judged"),
          .outside = f.number("outside").value_or(0)};
}

FamilyRow read_family_row(const Fields& f) {
  FamilyRow row{.kernel = f.text("kernel", true),
                .summary = f.text("summary"),
                .schedule = f.text("schedule"),
                .pass = f.text("pass")};
  row.implementation = f.text("implementation");
  row.workload = f.text("workload");
  row.third_party = f.boolean("third_party", false);
  row.records = f.number("records", true).value_or(0);
  if (const auto launches = f.object("launches")) {
    row.launches_predicted = launches->number("predicted");
    row.launches_measured = launches->number("measured");
    row.launch_names = launches->texts("names");
  }
  f.each("quantities", true, [&](const Fields& q) { row.numbers.push_back(read_number(q)); });
  return row;
}

Gain read_gain(const Fields& f) {
  Gain gain{.factor = f.number("factor", true),
            .predicted_factor = f.number("predicted_factor"),
            .nearness_factor = f.number("nearness_factor"),
            .cycles_factor = f.number("cycles_factor"),
            .bound_before = f.text("bound_before"),
            .bound_before_seconds = f.number("bound_before_seconds"),
            .bound_before_seconds_now = f.number("bound_before_seconds_now"),
            .path_changed = f.boolean("path_changed", false)};
  f.each("changes", false, [&](const Fields& c) {
    gain.changes.push_back({c.text("quantity", true), c.text("title", true), c.number("before"), c.number("after"),
                            c.number("factor"), c.number("counted_before"), c.number("counted_after"),
                            c.number("counted_factor")});
  });
  return gain;
}

LadderStep read_step(const Fields& f) {
  LadderStep step{.kernel = f.text("kernel", true),
                  .summary = f.text("summary"),
                  .implementation = f.text("implementation"),
                  .bound_by = f.text("bound_by"),
                  .path = f.text("path")};
  step.third_party = f.boolean("third_party", false);
  step.variants = f.number("variants");
  step.seconds = f.number("seconds", true);
  step.predicted_seconds = f.number("predicted_seconds", true);
  step.nearness = f.number("nearness");
  step.flop_per_second = f.number("flop_per_second", true);
  step.predicted_flop_per_second = f.number("predicted_flop_per_second");
  step.kv_bytes = f.number("kv_bytes");
  step.kv_bytes_per_second = f.number("kv_bytes_per_second");
  step.path_flop_per_second = f.number("path_flop_per_second");
  if (const auto clocks = f.object("clocks"))
    step.clocks = ClockState{clocks->number("sm_hz"), clocks->number("power_w"), clocks->number("power_limit_w"),
                             clocks->texts("throttle")};
  if (const auto gain = f.object("gain")) step.gain = read_gain(*gain);
  return step;
}

Ladder read_ladder(const Fields& f) {
  Ladder ladder{.title = f.text("title", true), .pass = f.text("pass"), .kind = f.text("kind", true)};
  if (ladder.kind != "flop" && ladder.kind != "bytes" && !ladder.kind.empty())
    f.complain(f.at("kind"), "flop or bytes", f.node().at("kind"));
  ladder.fits_l2 = f.boolean("fits_l2", false);
  f.each("steps", true, [&](const Fields& s) { ladder.steps.push_back(read_step(s)); });
  return ladder;
}

}  // namespace

FamilyPage read_family(const nlohmann::json& data) {
  std::vector<Diagnostic> problems;
  const Fields f(data, "", problems);
  const std::string schema = f.text("schema", true);
  if (!schema.empty() && schema != kFamilySchema)
    problems.push_back({.file = "report data",
                        .path = "schema",
                        .message = fmt::format("expected {}, found {}", kFamilySchema, schema)});
  FamilyPage family{.title = f.text("title"), .generated = f.text("generated"), .revision = f.text("revision")};
  if (const auto hardware = f.object("hardware", true)) {
    family.hardware = {
        .id = hardware->text("id", true), .name = hardware->text("name"), .chip = hardware->text("chip")};
    if (family.hardware.name.empty()) family.hardware.name = family.hardware.id;
  }
  if (family.title.empty()) family.title = "The kernel family";
  family.points = f.number("points").value_or(0);
  f.each("kernels", true, [&](const Fields& k) { family.rows.push_back(read_family_row(k)); });
  f.each("ladders", true, [&](const Fields& l) { family.ladders.push_back(read_ladder(l)); });
  if (!problems.empty()) throw InputError(std::move(problems));
  return family;
}

}  // namespace tilescope::report
