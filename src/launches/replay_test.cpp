// Captures of our own kernels, of Triton's and of JAX's Pallas, whose code nobody described: capture, describe,
// predict, compare, without a GPU and without a disassembler.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "launches/rows.h"
#include "launches/stated_sizes.h"
#include "records/capture/capture_lines.h"

namespace replay_test {

using namespace tilescope;
using namespace tilescope::launches;

namespace {

std::vector<LaunchRow> replayed(const std::string& name) {
  const std::string place = std::string(TILESCOPE_SOURCE_DIR) + "/validate/captures/" + name + ".jsonl";
  const TemporaryDirectory descriptors("tilescope-replay");
  KernelFacts facts(place, std::nullopt);
  const ProgramLaunches program = launches_of_capture(
      capture::read_capture(place), facts, name, {.hardware = {}, .points = {}, .descriptors = descriptors.path()});
  return launch_rows(program, TILESCOPE_SOURCE_DIR, validate::Experiment{});
}

// How many launches lie within a tolerance.
struct Within {
  int all = 0, close = 0;
  double worst = 0;
  std::string worst_of;
  void add(double predicted, double counted, double most, const std::string& label) {
    const double error = counted == 0 ? (predicted == 0 ? 0 : 1) : std::abs(predicted / counted - 1);
    ++all, close += error <= most;
    if (error >= worst) worst = error, worst_of = label;
  }
  double share() const { return all == 0 ? 0 : static_cast<double>(close) / all; }
  std::string text() const { return fmt::format("{} of {}, worst {:.2f} % ({})", close, all, 100 * worst, worst_of); }
};

// What a program of launches comes to.
struct Replay {
  Within flop, l2_read, hbm_read, operands;
  int launches = 0;
  std::map<std::string, int> missing;   // launches that are not predicted, by the reason
  std::map<std::string, bool> variant;  // by kernel: whether tile, warps and stages are those that the program states

  // `by_ldmatrix`: ldmatrix loads operands. Of other kernels it brings O back on its way to memory.
  explicit Replay(const std::vector<LaunchRow>& rows, bool by_ldmatrix = true) : by_ldmatrix_(by_ldmatrix) {
    for (const LaunchRow& row : rows) {
      ++launches;
      add_variant(row.launches);
      if (!row.prediction) ++missing[row.launches.missing.empty() ? "" : row.launches.missing.front()];
      else {
        for (const ComparisonRow& each : row.prediction->compared) add_quantity(each, label(row));
        add_operands(row);
      }
    }
    for (const auto& [name, within] :
         {std::pair{"FLOP", &flop}, {"L2 -> SM", &l2_read}, {"HBM read", &hbm_read}, {"operands", &operands}})
      MESSAGE(fmt::format("{}: {}", name, within->text()));
    for (const auto& [reason, count] : missing) MESSAGE(fmt::format("{} launches: {}", count, reason));
  }

  double right_variants() const {
    const auto right = std::count_if(variant.begin(), variant.end(), [](const auto& each) { return each.second; });
    return static_cast<double>(right) / static_cast<double>(variant.size());
  }

 private:
  static std::string label(const LaunchRow& row) {
    const auto& ranges = row.launches.ranges;
    return fmt::format("{}, {}, {}", row.launches.recognised, row.prediction->sizes, ranges.empty() ? "" : ranges[0]);
  }

  void add_quantity(const ComparisonRow& row, const std::string& label) {
    if (row.quantity == "tensor_flop") flop.add(row.predicted, row.measured, 0, label);
    if (row.label() == "traffic l2 read") l2_read.add(row.predicted, row.measured, 0.01, label);
    if (row.label() == "traffic hbm read") hbm_read.add(row.predicted, row.measured, 0.1, label);
  }

  // Of kernels that load no operands by ldmatrix, all are those of wgmma, in wavefronts of 128 bytes. Of others
  // ldmatrix has its own counter of bytes, where it was counted.
  void add_operands(const LaunchRow& row) {
    const std::map<std::string, double>& counters = row.launches.record->counters;
    const auto of = [&](const char* metric) {
      const auto found = counters.find(metric);
      return found != counters.end() ? std::optional(found->second) : std::nullopt;
    };
    const auto products = of("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum");
    const auto loads = of("smsp__inst_executed_op_ldsm.sum"), bytes = of("sm__sass_data_bytes_mem_shared_op_ldsm.sum");
    if (!products || !loads || (*loads > 0 && !bytes)) return;
    const double loaded = by_ldmatrix_ && *loads > 0 ? *bytes : 0;
    operands.add(row.prediction->operand_bytes, 128 * *products + loaded, 0.02, label(row));
  }

  // "tile=q=64,kv=32,warps=4,stages=0" beside "64 x 32, 4 warps, 2 stages, mma.sync fp16".
  void add_variant(const AttentionLaunches& launch) {
    if (launch.ranges.empty()) return;
    const auto point = point_of_range(launch.ranges.front());
    const auto tile = point ? point->options.text("tile") : std::nullopt;
    if (!tile || launch.recognised.empty()) return;
    std::map<std::string, std::string> sizes;
    for (const std::string& part : split(*tile, ',')) {
      const std::size_t equals = part.find('=');
      sizes[part.substr(0, equals)] = part.substr(equals + 1);
    }
    bool fits =
        launch.recognised.starts_with(fmt::format("{} x {}, {} warps", sizes["q"], sizes["kv"], sizes["warps"]));
    if (sizes["stages"] != "0")
      fits = fits && launch.recognised.find(fmt::format(", {} stages", sizes["stages"])) != std::string::npos;
    if (!variant.try_emplace(launch.symbol, fits).second) return;
    if (!fits) MESSAGE(fmt::format("stated {}, found {}: {}", *tile, launch.recognised, launch.symbol));
  }

  bool by_ldmatrix_;
};

}  // namespace

TEST_CASE("JAX's Pallas attention, of which no one stated a size: found, predicted and counted on an H100") {
  const Replay replay(replayed("h100_pallas_counted"));
  CHECK(replay.launches == 5);
  CHECK(replay.missing.empty());
  CHECK(replay.flop.all == 5);
  CHECK(replay.flop.share() == 1);
  CHECK(replay.l2_read.share() == 1);  // worst 0.7 %: the first block loads tiles ahead that its mask leaves out
  CHECK(replay.hbm_read.worst < 0.01);
}

TEST_CASE("fused_mma and fused_wgmma, described without a typed key: as an H100 counted them") {
  const Replay replay(replayed("h100_fused_forward"));
  CHECK(replay.launches == 203);
  CHECK(replay.missing.empty());
  CHECK(replay.flop.share() == 1);
  CHECK(replay.l2_read.share() == 1);
  CHECK(replay.hbm_read.share() == 1);
  CHECK(replay.operands.all >= 140);
  CHECK(replay.operands.share() >= 0.9);
}

TEST_CASE("our own kernels, described without a typed key: as an H100 counted them") {
  const Replay replay(replayed("h100_own_kernels"));
  CHECK(replay.launches == 163);  // a row for each kernel, grid and set of sizes
  const int predicted = replay.flop.all;
  CHECK(predicted >= 0.9 * replay.launches);
  CHECK(replay.right_variants() == 1);  // of those that state their stages, which block_sparse does not
  CHECK(replay.flop.close >= 0.9 * predicted);
  CHECK(replay.l2_read.close >= 0.9 * predicted);
  CHECK(replay.hbm_read.share() == 1);
  CHECK(replay.operands.share() >= 0.9);
}

TEST_CASE("Triton kernels that nobody described: two loops, a window, tensor maps, rows of heads side by side") {
  const std::vector<LaunchRow> rows = replayed("h100_triton_loops");
  const Replay replay(rows, false);
  CHECK(replay.launches == 12);
  CHECK(replay.missing.empty());
  CHECK(replay.flop.share() == 1);
  CHECK(replay.l2_read.share() == 1);
  CHECK(replay.hbm_read.share() == 1);
  CHECK(replay.operands.all == 12);
  CHECK(replay.operands.share() == 1);
  // Tile, warps, stages as validate/captures/triton_loops.py states them, for launches of these sizes.
  const std::multiset<std::string> stated{
      "2 x 16 heads, 2048 x 2048, d64, causal: 128 x 64, 4 warps, 3 stages, wgmma fp16",
      "1 x 16/4 heads, 2048 x 2048, d128, causal: 128 x 32, 8 warps, 3 stages, wgmma bf16",
      "2 x 8 heads, 1024 x 1024, d128: 64 x 64, 4 warps, 2 stages, wgmma fp16",
      "4 x 8/2 heads, 2048 x 2048, d64: 128 x 128, 8 warps, 2 stages, wgmma bf16",
      "1 x 8 heads, 4096 x 4096, d64, window:512: 64 x 64, 4 warps, 3 stages, wgmma fp16",
      "1 x 32/8 heads, 1024 x 1024, d256, causal: 64 x 32, 4 warps, 2 stages, wgmma bf16",
      "3 x 8 heads, 1536 x 1536, d32, causal: 128 x 64, 4 warps, 4 stages, wgmma fp16",
      "2 x 16 heads, 2048 x 2048, d128: 128 x 64, 8 warps, 3 stages, wgmma fp16",
      "2 x 16 heads, 2048 x 2048, d64, causal: 128 x 128, 8 warps, 2 stages, wgmma bf16",
      "1 x 16 heads, 1024 x 1024, d128, causal: 64 x 64, 4 warps, 2 stages, wgmma fp16",
      "2 x 16/4 heads, 2048 x 2048, d128, causal: 64 x 64, 4 warps, 3 stages, wgmma fp16",
      "1 x 12 heads, 3072 x 3072, d64: 128 x 32, 4 warps, 4 stages, wgmma bf16"};
  std::multiset<std::string> found;
  for (const LaunchRow& row : rows)
    found.insert(fmt::format("{}: {}", row.prediction ? row.prediction->sizes : "", row.launches.recognised));
  CHECK(found == stated);
}

}  // namespace replay_test
