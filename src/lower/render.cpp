// A lowering's result as text.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "lower/result.h"

namespace tilescope::lower {
namespace {

using Row = std::vector<std::string>;

// Pads columns to their widest cell, separates them by two spaces and indents by two.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string binary(std::int64_t bytes) {
  return bytes % 1024 == 0 || bytes > 10240 ? fmt::format("{:.6g} KiB", static_cast<double>(bytes) / 1024)
                                            : fmt::format("{} B", bytes);
}

std::string divisors_text(const PlanResult& plan) {
  if (plan.divisors.empty()) return {};
  std::vector<Row> rows{{"size", "value", "multiple of", "because"}};
  for (const DivisorResult& d : plan.divisors)
    rows.push_back({d.size, std::to_string(d.value), std::to_string(d.multiple) + (d.ok ? "" : "  NOT MET"),
                    join(d.because, "; ")});
  return table(rows) + "\n";
}

std::string variables_text(const PlanResult& plan) {
  std::vector<Row> rows{{"variable", "level", "scope", "bytes"}};
  for (const VariableUse& use : plan.configuration.variables)
    rows.push_back(
        {use.name, to_string(use.level), to_string(use.scope),
         use.shares.empty() ? binary(use.stored_bytes) : fmt::format("({} in {})", binary(use.bytes), use.shares)});
  return table(rows) + "\n";
}

std::string levels_text(const Lowering& lowering, const PlanResult& plan) {
  const std::string scope = to_string(lowering.copies.scope);
  std::vector<Row> rows{{"level", "capacity", "block", scope, "N_max", "N"}};
  const bool blocks = lowering.copies.scope == Scope::block;
  for (const LevelFit& fit : plan.configuration.levels)
    rows.push_back({to_string(fit.level), binary(fit.capacity_bytes), blocks ? "-" : binary(fit.block_bytes),
                    binary(fit.copy_bytes), fit.copies_max ? fmt::format("{:.2f}", *fit.copies_max) : "-",
                    fit.copies_max ? std::to_string(fit.copies) : "-"});
  const Configuration& c = plan.configuration;
  std::string text = table(rows);
  text += fmt::format("  N = {} {}{} ({}), group of {} rows", c.copies, scope, c.copies == 1 ? "" : "s",
                      c.limited_by.empty() ? "no limit" : "limited by " + c.limited_by, c.group_rows);
  if (c.registers)
    text += fmt::format("; {} registers a thread, {} allocated", c.registers->per_thread, c.registers->allocated);
  return text + "\n\n";
}

std::string throughput_text(const PlanResult& plan) {
  static const std::vector<std::string> units{"FLOP", "ops", "B"};
  const Throughput& t = plan.throughput;
  std::vector<Row> rows{{"operation", "pipe", "amount", "per clock", "clocks", "rate from"}};
  for (const OperationClocks& o : t.operations)
    rows.push_back({o.name, o.pipe,
                    fmt::format("{} {}", with_thousands(o.amount), units[static_cast<std::size_t>(o.unit)]),
                    fmt::format("{:g}", o.rate), fmt::format("{:.4g}", o.clocks), o.rate_source});
  std::string text = table(rows) + "  pipes:";
  for (const PipeClocks& pipe : t.pipes) text += fmt::format(" {} {:.6g}", pipe.pipe, pipe.clocks);
  text += fmt::format("\n  bound: {:.6g} clocks for {} row{}, {} ({} overlap)", t.bound_clocks, t.rows,
                      t.rows == 1 ? "" : "s", t.bound_by, plan.overlap);
  if (t.ideal_flop_per_second > 0) text += fmt::format("; ideal {}", with_si(t.ideal_flop_per_second, "FLOP/s"));
  return text + "\n";
}

std::string bandwidth_text(const PlanResult& plan) {
  if (!plan.bandwidth) return {};
  const BandwidthTest& b = *plan.bandwidth;
  const bool computes = b.compute_seconds >= b.transfer_seconds;
  return fmt::format(
      "  stream: {} B a unit and iteration; compute {}, transfer {}: {} bound; without caching a group of {:.1f} rows "
      "balances them\n",
      with_thousands(b.bytes_per_unit), with_si(b.compute_seconds, "s"), with_si(b.transfer_seconds, "s"),
      computes ? "compute" : "transfer", b.least_rows);
}

}  // namespace

std::string to_text(const LoweringResult& result) {
  const Lowering& lowering = result.lowering;
  std::string text = fmt::format("{} on {} ({})\n{}\nsource: {}\n", lowering.name, lowering.hardware.name,
                                 lowering.hardware.id, lowering.summary, lowering.sources.at(lowering.source));
  for (const PlanResult& plan : result.plans) {
    std::vector<std::string> sizes;
    for (const auto& [name, value] : plan.sizes) sizes.push_back(fmt::format("{}={}", name, value));
    text += fmt::format("\nplan {}: {}\n\n", plan.name, join(sizes, " "));
    if (!plan.configuration.variables.empty())
      text += divisors_text(plan) + variables_text(plan) + levels_text(lowering, plan);
    text += throughput_text(plan) + bandwidth_text(plan);
    for (const std::string& problem : plan.problems) text += "  does not fit: " + problem + "\n";
  }
  return text;
}

}  // namespace tilescope::lower
