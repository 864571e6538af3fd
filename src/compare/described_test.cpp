// Kernels that nobody described: validate/described holds what `describe` found in the machine code of Triton,
// FlexAttention and FlashAttention-2 kernels, how they were launched on an H100, and what its counters said.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "compare/compare.h"
#include "kernel/code/testdata/test_kernels.h"
#include "kernel/describe/description.h"

namespace described_test {

using namespace tilescope;

namespace {

using nlohmann::json;

// The descriptor of a kernel as it is launched, in a file of its own.
class DescribedFile {
 public:
  DescribedFile(const AttentionFacts& facts, const json& launch) {
    const Workload sizes = workload_of(launch, facts);
    const DescribeInput input{.name = "described",
                              .facts = facts,
                              .launch = {.grid = launch.at("grid"),
                                         .threads = launch.at("threads"),
                                         .dynamic_smem = launch.at("dynamic_smem")},
                              .workload = sizes,
                              .mask = split(launch.at("mask").get<std::string>(), ':').front()};
    const Description description = describe_kernel(input);
    for (const MissingValue& missing : description.missing) FAIL_CHECK(missing.key, ": ", missing.reason);
    std::ofstream(path_) << description.yaml();
  }
  ~DescribedFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

  static Workload workload_of(const json& l, const AttentionFacts& facts) {
    return {l.at("batch"),  l.at("heads_q"), l.at("heads_kv"), l.at("q_len"),
            l.at("kv_len"), facts.head_dim,  facts.v_head_dim};
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / fmt::format("tilescope_described_{}.kernel.yaml", getpid());
};

validate::Record record_of(const json& launch, const AttentionFacts& facts, const std::string& kernel) {
  validate::Record record;
  record.experiment = "described", record.environment.hardware = "h100_sxm";
  const Workload sizes = DescribedFile::workload_of(launch, facts);
  record.point.kernel = kernel, record.point.mask = launch.at("mask");
  record.point.workload = {sizes.batch,  sizes.heads_q, sizes.heads_kv, sizes.q_len,
                           sizes.kv_len, sizes.d_qk,    sizes.d_v};
  record.point.dtype = *parse_format(launch.at("dtype").get<std::string>());
  if (launch.contains("us")) record.program_seconds = {launch.at("us").get<double>() * 1e-6};
  if (!launch.contains("counters")) return record;
  for (const auto& [metric, value] : launch.at("counters").items()) record.counters[metric] = value;
  record.counters_with_flush = record.counters;
  validate::MeasuredLaunch& forward = record.islands.emplace_back();
  forward.name = "forward", forward.counters = record.counters;
  return record;
}

// Programs of the launches without a mask of the Triton kernels, by the clocks that were counted: the file of
// simulate/recorded_steps_test.cpp has what `describe` would have found.
std::map<double, std::string> triton_programs() {
  std::istringstream lines(unpacked(std::string(TILESCOPE_SOURCE_DIR) + "/src/simulate/testdata/triton_steps.zst"));
  std::map<double, std::string> programs;
  std::vector<double> clocks;
  std::string text;
  const auto keep = [&] {
    for (const double each : clocks) programs[each] = text;
    clocks.clear(), text.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) keep();
    else if (line.starts_with("! ")) clocks.push_back(std::stod(line.substr(line.rfind(' '))));
    else text += (line == "@ loop" ? "step" : line.starts_with("@ ") ? line.substr(2) : line) + "\n";
  }
  keep();
  return programs;
}

struct Within {
  int all = 0, close = 0;
  double worst = 0;
  void add(double predicted, double measured, double most) {
    const double error = std::abs(predicted / measured - 1);
    ++all, close += error <= most, worst = std::max(worst, error);
  }
  double share() const { return static_cast<double>(close) / all; }
};

// The launch as described, beside what was counted; judged by no tolerance.
std::vector<ComparisonRow> rows_of(const json& launch, const AttentionFacts& facts) {
  const validate::Experiment nothing_judged;
  const DescribedFile descriptor(facts, launch);
  Comparer comparer(
      TILESCOPE_SOURCE_DIR, [&](const std::string&) -> const validate::Experiment& { return nothing_judged; },
      Keep::points, 1);
  comparer.add(record_of(launch, facts, descriptor.path()));
  return comparer.finish().rows;
}

}  // namespace

TEST_CASE("kernels that describe found in machine code: predicted bytes and operations are those that were counted") {
  const validate::Experiment nothing_judged;
  Within flop, l2_read, l2_write, hbm_read, operands, tiles;
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/described/h100.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json kernel = json::parse(line);
    const AttentionFacts facts = read_facts(kernel.at("facts").dump(), "h100.jsonl");
    for (const json& launch : kernel.at("launches")) {
      const DescribedFile descriptor(facts, launch);
      Comparer comparer(
          TILESCOPE_SOURCE_DIR, [&](const std::string&) -> const validate::Experiment& { return nothing_judged; },
          Keep::points, 1);
      comparer.add(record_of(launch, facts, descriptor.path()));
      const Comparison comparison = comparer.finish();
      REQUIRE(comparison.points.size() == 1);
      const KernelVariant& variant = comparison.points[0].plan.kernel.variants.at(0);
      for (const auto& [key, value] : kernel.at("compiled_for").items()) {
        const std::int64_t found = key == "tile_q"    ? variant.tile_q
                                   : key == "tile_kv" ? variant.tile_kv
                                   : key == "warps"   ? variant.warps
                                                      : variant.stages;
        tiles.add(static_cast<double>(found), value.get<double>(), 0);
      }
      for (const ComparisonRow& row : comparison.rows) {
        if (row.quantity == "tensor_flop") flop.add(row.predicted, row.measured, 0);
        if (row.label() == "traffic l2 read") l2_read.add(row.predicted, row.measured, 0.01);
        if (row.label() == "traffic l2 write") l2_write.add(row.predicted, row.measured, 0.01);
        if (row.label() == "traffic hbm read") hbm_read.add(row.predicted, row.measured, 0.1);
      }
      // ldmatrix moves O in the kernels with wgmma, so that their operands are those of wgmma alone.
      constexpr double bytes_of_wavefront = 128;
      if (const auto wavefronts = launch.at("counters").find("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum");
          wavefronts != launch.at("counters").end())
        operands.add(static_cast<double>(comparison.points[0].prediction.operand_bytes),
                     bytes_of_wavefront * wavefronts->get<double>(), 0.02);
    }
  }
  CHECK(flop.all == 113);
  CHECK(tiles.share() == 1);
  CHECK(flop.share() == 1);
  CHECK(l2_read.share() >= 0.92);
  CHECK(l2_read.worst < 0.06);  // of the kernels that spill
  CHECK(l2_write.share() == 1);
  CHECK(hbm_read.share() == 1);
  CHECK(hbm_read.worst < 0.05);  // of FlashAttention-2 under a causal mask: no one says in which order it takes keys
  CHECK(operands.share() == 1);
}

TEST_CASE("clocks of Triton kernels that describe found: executed on a simulated SM they are near the counted ones") {
  const std::map<double, std::string> programs = triton_programs();
  std::map<bool, Within> found;  // by whether the step was executed
  std::map<bool, double> sums;
  std::map<std::vector<std::int64_t>, std::vector<std::pair<double, double>>> workloads;
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/described/h100.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json kernel = json::parse(line);
    AttentionFacts facts = read_facts(kernel.at("facts").dump(), "h100.jsonl");
    if (kernel.at("source") != "triton_forward.py") continue;
    for (const json& launch : kernel.at("launches")) {
      const auto program = programs.find(launch.at("counters").at("sm__cycles_active.sum").get<double>());
      if (program == programs.end()) continue;
      for (const bool executed : {false, true}) {
        facts.program = executed ? program->second : "";
        for (const ComparisonRow& row : rows_of(launch, facts)) {
          if (row.quantity != "busy_cycles") continue;
          found[executed].add(row.predicted, row.measured, 0.1);
          sums[executed] += std::abs(row.predicted / row.measured - 1);
          if (executed)
            workloads[{launch.at("batch"), launch.at("heads_q"), launch.at("q_len"), launch.at("kv_len"),
                       facts.head_dim}]
                .emplace_back(row.predicted, row.measured);
        }
      }
    }
  }
  double pairs = 0, alike = 0;  // tiles of a workload: whether predictions order two of them as counters do
  for (const auto& [sizes, tiles] : workloads)
    for (std::size_t i = 0; i < tiles.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        ++pairs, alike += (tiles[i].first < tiles[j].first) == (tiles[i].second < tiles[j].second);
  const double mean = sums[true] / found[true].all;
  MESSAGE(
      fmt::format("{} launches, SM cycles: mean error {:.1f} %, worst {:.1f} %; synthesised {:.1f} %, {:.1f} %; "
                  "{:.0f} of {:.0f} pairs of tiles in order",
                  found[true].all, 100 * mean, 100 * found[true].worst, 100 * sums[false] / found[false].all,
                  100 * found[false].worst, alike, pairs));
  CHECK(found[true].all == 48);
  CHECK(mean < 0.06);
  CHECK(found[true].worst < 0.16);
  CHECK(alike >= 0.91 * pairs);
}

// The facts alone, without the code: synthesised programs, which no compiler has delayed, are faster than Triton's.
TEST_CASE("times of kernels by what describe found in machine code, without that code, are near those of an H100") {
  std::map<std::string, Within> by_source;
  std::map<std::string, double> sums;
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/described/h100_times.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json kernel = json::parse(line);
    const AttentionFacts facts = read_facts(kernel.at("facts").dump(), "h100_times.jsonl");
    const std::string source = kernel.at("source");
    for (const json& launch : kernel.at("launches")) {
      for (const ComparisonRow& row : rows_of(launch, facts)) {
        if (row.quantity != "seconds_program") continue;
        by_source[source].add(row.predicted, row.measured, 0.2);
        sums[source] += std::abs(row.predicted / row.measured - 1);
      }
    }
  }
  struct Bar {
    const char* source;
    int launches;
    double mean, worst;
  };
  for (const Bar& bar :
       {Bar{"triton_forward.py", 48, 0.25, 0.36}, Bar{"PyTorch 2.11, FlashAttention-2", 10, 0.12, 0.45},
        Bar{"JAX Pallas, Mosaic GPU", 5, 0.15, 0.25}}) {
    const Within& found = by_source[bar.source];
    CAPTURE(bar.source);
    CHECK(found.all == bar.launches);
    const double mean = sums[bar.source] / found.all;
    MESSAGE(fmt::format("{}: {} launches, mean error of time {:.1f} %, worst {:.1f} %", bar.source, found.all,
                        100 * mean, 100 * found.worst));
    CHECK(mean < bar.mean);
    CHECK(found.worst < bar.worst);
  }
}

}  // namespace described_test
