#include <cmath>

#include "fixture.h"

namespace tilescope::page_test {
namespace {

using namespace analysis;

struct Titled {
  const char *quantity, *title;
};
constexpr Titled columns[] = {{"tensor_flop", "tensor FLOP"}, {"l2_read_bytes", "L2 → SM"},
                              {"l2_write_bytes", "SM → L2"},  {"smem_operand_bytes", "shared-memory operands"},
                              {"hbm_read_bytes", "HBM read"}, {"hbm_write_bytes", "HBM write"}};

FamilyRow row_of(const std::string& kernel, bool third_party, bool matrix, Random& random) {
  FamilyRow row{.kernel = kernel,
                .summary = kernel + ": what the descriptor says of it",
                .schedule = "flash2",
                .pass = "forward",
                .point = kernel + "-id",
                .implementation = "fp16 128x64 8w",
                .workload = "d128 N4096",
                .third_party = third_party,
                .records = 7,
                .launches_predicted = 2,
                .launches_measured = 2,
                .launch_names = {"partial", "combine"}};
  for (std::size_t i = 0; i < std::size(columns); ++i) {
    FamilyNumber number{.quantity = columns[i].quantity, .title = columns[i].title};
    number.predicted = std::round(std::pow(10, 6 + 6 * random.next()));
    number.measured = std::round(*number.predicted * (1 + (random.next() - 0.5) * 0.02));
    number.ratio = *number.predicted / *number.measured;
    if (i == 0 && !matrix) {
      number.measured.reset(), number.ratio.reset();
      number.absent = "no matrix instructions: products run as FMA";
    }
    number.judged =
        ErrorSpread{3.0 + static_cast<double>(i), random.next() / 100, i == 4 ? Number() : Number(random.next() / 20)};
    if (i == 5) number.not_judged = ErrorSpread{2, 0.2, 0.61};
    number.outside = i == 3 ? 1 : 0;
    row.numbers.push_back(number);
  }
  return row;
}

LadderStep step_of(const std::string& kernel, bool third_party, int i, Random& random) {
  const double seconds = 3e-3 / std::pow(1.7, i) * (1 + 0.1 * random.next());
  const double predicted = seconds * (0.3 + 0.6 * random.next()), kv_bytes = std::round(1073741824.0 / (1 + i));
  LadderStep step{.kernel = kernel,
                  .summary = kernel + " in one line",
                  .implementation = "fp16,kv=int4:g32:b2 128x64 8w s2",
                  .point = kernel + "-id",
                  .bound_by = i ? "tensor" : "hbm",
                  .path = i ? "wgmma" : "fma",
                  .third_party = third_party,
                  .variants = i + 1,
                  .seconds = seconds,
                  .predicted_seconds = predicted,
                  .nearness = predicted / seconds,
                  .flop_per_second = 1e12 / seconds,
                  .predicted_flop_per_second = 1e12 / predicted,
                  .kv_bytes = kv_bytes,
                  .kv_bytes_per_second = kv_bytes / seconds};
  if (i) step.path_flop_per_second = 9.89e14;
  if (i != 2) step.clocks = ClockState{.sm_hz = 1.98e9 - i * 1e8, .power_w = 300 + 57.3 * i, .power_limit_w = 700};
  if (i == 1) step.clocks->throttle = {"sw_power_cap"};
  return step;
}

LadderChange change_of(const char* quantity, const char* title, Number before, Number after, bool counted) {
  LadderChange change{.quantity = quantity, .title = title, .before = before, .after = after};
  if (before && after) change.factor = *before / *after;
  if (counted) {
    change.counted_before = *before * 1.01, change.counted_after = *after * 0.99;
    change.counted_factor = *change.counted_before / *change.counted_after;
  }
  return change;
}

Gain gain_of(const LadderStep& a, const LadderStep& b, bool first) {
  Gain gain{.factor = *a.seconds / *b.seconds, .predicted_factor = *a.predicted_seconds / *b.predicted_seconds};
  gain.nearness_factor = *gain.factor / *gain.predicted_factor;
  if (a.clocks && b.clocks) gain.cycles_factor = *gain.factor * *a.clocks->sm_hz / *b.clocks->sm_hz;
  gain.bound_before = a.bound_by, gain.path_changed = first;
  gain.bound_before_seconds = a.predicted_seconds, gain.bound_before_seconds_now = *a.predicted_seconds / 7;
  gain.changes = {change_of("hbm_bytes", "HBM bytes", 5.6e8, 3.3e7, true),
                  change_of("tensor_flop", "tensor FLOP", first ? Number() : Number(8.1e12), 8.6e12, false),
                  change_of("xu", "XU operations", 3.1e7, 6.9e7, true)};
  return gain;
}

Ladder ladder_of(const std::string& title, LadderKind kind, const std::vector<std::string>& kernels, Random& random) {
  Ladder ladder{.title = title, .pass = "forward", .kind = kind, .fits_l2 = kind == LadderKind::bytes};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    LadderStep step = step_of(kernels[i], kernels[i] == "pytorch_flash2", static_cast<int>(i), random);
    if (i > 0) step.gain = gain_of(ladder.steps.back(), step, i == 1);
    ladder.steps.push_back(std::move(step));
  }
  return ladder;
}

}  // namespace

FamilyPage family_fixture() {
  Random random(4711);
  FamilyPage family{
      .title = "The kernel family on H200: SYNTHETIC TEST DATA", .generated = "2026-11-20", .revision = "test"};
  family.hardware = {.id = "h200", .name = "NVIDIA H200", .chip = "GH100"};
  family.points = 28;
  family.rows = {row_of("fused_mma", false, true, random), row_of("fused_wgmma", false, true, random),
                 row_of("reference", false, false, random), row_of("pytorch_flash2", true, true, random)};
  family.ladders = {
      ladder_of("Forward, head_dim 128", LadderKind::flop, {"reference", "fused_mma", "pytorch_flash2", "fused_wgmma"},
                random),
      ladder_of("Forward, head_dim 128, 1 query, 8192 keys", LadderKind::bytes, {"split_kv", "split_kv"}, random),
      ladder_of("Forward, head_dim 64", LadderKind::flop, {"reference", "fused_mma"}, random)};
  return family;
}

}  // namespace tilescope::page_test
