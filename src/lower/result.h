// The results of a lowering: the configuration, the clocks, and the test against the outer memory's bandwidth.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "base/page_section.h"
#include "hardware/sm/residency.h"
#include "lower/lowering.h"

namespace tilescope::lower {

using Json = nlohmann::ordered_json;

struct DivisorResult {
  std::string size;
  std::int64_t value = 0, multiple = 1;  // the least common multiple of all constraints on this size
  std::vector<std::string> because;
  bool ok = true;
};

struct VariableUse {
  std::string name;
  LevelId level = LevelId::smem;
  Scope scope = Scope::block;
  std::int64_t bytes = 0;         // with its buffers, in one scope
  std::int64_t stored_bytes = 0;  // 0 where it shares another's storage; the owner stores the largest of them
  std::string shares;
};

struct RegisterUse {
  std::int64_t per_thread = 0, allocated = 0, limit = 0;  // 32-bit registers; limit 0: not known
};

struct Configuration {
  std::vector<VariableUse> variables;
  std::vector<LevelFit> levels;
  std::optional<RegisterUse> registers;
  std::int64_t copies = 0;  // N
  std::string limited_by;   // a level's name or "threads"
  std::int64_t group_rows = 0;
};

struct OperationClocks {
  std::string name, pipe, rate_source;
  AmountUnit unit = AmountUnit::flop;
  std::int64_t amount = 0;
  double rate = 0, clocks = 0;
};
struct PipeClocks {
  std::string pipe;
  double clocks = 0;
};

// All clocks are those of one iteration of `rows` rows on one unit.
struct Throughput {
  std::int64_t rows = 0;
  std::vector<OperationClocks> operations;
  std::vector<PipeClocks> pipes;
  double bound_clocks = 0;
  std::string bound_by;  // a pipe, or "a and b" that tie; "several phases" when phases have different ones
  std::int64_t tensor_flop = 0;
  double ideal_flop_per_second = 0;  // of the whole device if only the limiting pipe takes time
};

// Every unit streams its own tiles from the outermost memory while it computes on its whole group (Napkin, section 5).
struct BandwidthTest {
  std::int64_t bytes_per_unit = 0;
  double compute_seconds = 0, transfer_seconds = 0;
  double least_rows = 0;  // of the group, for compute to take as long as the transfer
};

struct PlanResult {
  std::string name;
  Sizes sizes;
  std::string overlap;
  std::vector<DivisorResult> divisors;
  Configuration configuration;
  Throughput throughput;
  std::optional<BandwidthTest> bandwidth;  // absent: nothing is streamed, nothing fits, or the bandwidth is not known
  std::vector<std::string> problems;       // empty: the plan fits
};

struct LoweringResult {
  Lowering lowering;
  std::vector<PlanResult> plans;
};

// Loads and evaluates a lowering. Throws InputError; a plan that does not fit is an answer, not an error.
LoweringResult run_lowering(const std::filesystem::path& file, const std::filesystem::path& data_directory);
LoweringResult evaluate(const Lowering& lowering);

// The steps of one plan. (Napkin section 5: divisor superscripts, table 2, table 3 and figure 34.)
std::vector<DivisorResult> check_divisors(const Lowering& lowering, const Sizes& sizes);
Configuration configure(const Lowering& lowering, const LoweringPlan& plan);
Throughput pipeline(const Lowering& lowering, const LoweringPlan& plan);
double clock_of(const HardwareProfile& hardware);  // of products, Hz; 0: not known
std::int64_t streamed_bytes(const Lowering& lowering, const LoweringPlan& plan);

std::vector<PageSection> sections_of(const LoweringResult& result);
Json to_json(const LoweringResult& result);

}  // namespace tilescope::lower
