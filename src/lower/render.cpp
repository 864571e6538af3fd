// A lowering's result as headed sections, for text and Markdown.
#include <fmt/format.h>

#include "base/text.h"
#include "lower/result.h"

namespace tilescope::lower {
namespace {

std::string binary(std::int64_t bytes) {
  return bytes % 1024 == 0 || bytes > 10240 ? fmt::format("{:.6g} KiB", static_cast<double>(bytes) / 1024)
                                            : fmt::format("{} B", bytes);
}

PageTable divisors_table(const PlanResult& plan) {
  PageTable table{.columns = {"size", "value", "multiple of", "because"}};
  for (const DivisorResult& d : plan.divisors)
    table.rows.push_back({d.size, std::to_string(d.value), std::to_string(d.multiple) + (d.ok ? "" : " (NOT MET)"),
                          join(d.because, "; ")});
  return table;
}

PageTable variables_table(const PlanResult& plan) {
  PageTable table{.columns = {"variable", "level", "scope", "bytes"}};
  for (const VariableUse& use : plan.configuration.variables)
    table.rows.push_back(
        {use.name, to_string(use.level), to_string(use.scope),
         use.shares.empty() ? binary(use.stored_bytes) : fmt::format("({} in {})", binary(use.bytes), use.shares)});
  return table;
}

PageTable levels_table(const Lowering& lowering, const PlanResult& plan) {
  const bool blocks = lowering.copies.scope == Scope::block;
  PageTable table{.columns = {"level", "capacity", "block", to_string(lowering.copies.scope), "N_max", "N"}};
  for (const LevelFit& fit : plan.configuration.levels)
    table.rows.push_back({to_string(fit.level), binary(fit.capacity_bytes), blocks ? "-" : binary(fit.block_bytes),
                          binary(fit.copy_bytes), fit.copies_max ? fmt::format("{:.2f}", *fit.copies_max) : "-",
                          fit.copies_max ? std::to_string(fit.copies) : "-"});
  return table;
}

PageTable operations_table(const PlanResult& plan) {
  static const std::vector<std::string> units{"FLOP", "ops", "B"};
  PageTable table{.columns = {"operation", "pipe", "amount", "per clock", "clocks", "rate from"}};
  for (const OperationClocks& o : plan.throughput.operations)
    table.rows.push_back({o.name, o.pipe,
                          fmt::format("{} {}", with_thousands(o.amount), units[static_cast<std::size_t>(o.unit)]),
                          fmt::format("{:g}", o.rate), fmt::format("{:.4g}", o.clocks), o.rate_source});
  return table;
}

std::string copies_text(const Lowering& lowering, const Configuration& c) {
  std::string text = fmt::format("N = {} {}{} ({}), group of {} rows", c.copies, to_string(lowering.copies.scope),
                                 c.copies == 1 ? "" : "s",
                                 c.limited_by.empty() ? "no limit" : "limited by " + c.limited_by, c.group_rows);
  if (c.registers)
    text += fmt::format("; {} registers a thread, {} allocated", c.registers->per_thread, c.registers->allocated);
  return text;
}

std::string bound_text(const PlanResult& plan) {
  const Throughput& t = plan.throughput;
  std::string text = fmt::format("bound: {:.6g} clocks for {} row{}, {} ({} overlap)", t.bound_clocks, t.rows,
                                 t.rows == 1 ? "" : "s", t.bound_by, plan.overlap);
  if (t.ideal_flop_per_second > 0) text += fmt::format("; ideal {}", with_si(t.ideal_flop_per_second, "FLOP/s"));
  std::vector<std::string> clocks;
  for (const PipeClocks& pipe : t.pipes) clocks.push_back(fmt::format("{} {:.6g}", pipe.pipe, pipe.clocks));
  return text + "; clocks by pipe: " + join(clocks, ", ");
}

std::string bandwidth_text(const BandwidthTest& b) {
  const bool computes = b.compute_seconds >= b.transfer_seconds;
  return fmt::format(
      "stream: {} B an SM and iteration; compute {}, transfer {}: {} bound; without caching a group of {:.1f} rows "
      "balances them",
      with_thousands(b.bytes_per_unit), with_si(b.compute_seconds, "s"), with_si(b.transfer_seconds, "s"),
      computes ? "compute" : "transfer", b.least_rows);
}

PageSection plan_section(const Lowering& lowering, const PlanResult& plan) {
  std::vector<std::string> sizes;
  for (const auto& [name, value] : plan.sizes) sizes.push_back(fmt::format("{}={}", name, value));
  PageSection section{.heading = "Plan " + plan.name, .paragraphs = {"sizes: " + join(sizes, " ")}};
  const bool placed = !plan.configuration.variables.empty();
  if (placed) section.paragraphs.push_back(copies_text(lowering, plan.configuration));
  section.paragraphs.push_back(bound_text(plan));
  if (plan.bandwidth) section.paragraphs.push_back(bandwidth_text(*plan.bandwidth));
  for (const std::string& problem : plan.problems) section.paragraphs.push_back("does not fit: " + problem);
  if (placed) section.tables = {divisors_table(plan), variables_table(plan), levels_table(lowering, plan)};
  section.tables.push_back(operations_table(plan));
  return section;
}

}  // namespace

std::vector<PageSection> sections_of(const LoweringResult& result) {
  const Lowering& lowering = result.lowering;
  std::vector<PageSection> sections{
      {.heading = fmt::format("{} on {} ({})", lowering.name, lowering.hardware.name, lowering.hardware.id),
       .paragraphs = {lowering.summary, "source: " + lowering.sources.at(lowering.source)}}};
  for (const PlanResult& plan : result.plans) sections.push_back(plan_section(lowering, plan));
  return sections;
}

}  // namespace tilescope::lower
