#include <fmt/format.h>

#include "report/model.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

std::string lengths(const Pictures& pictures) {
  std::string out =
      "## DRAM bytes over sequence length\n\nReads and writes of a cold launch. Without a cache: what the "
      "multiprocessors ask of the L2.\n\n"
      "| kernel | series | keys | predicted | measured | error | compulsory | without a cache "
      "|\n|---|---|--:|--:|--:|--:|--:|--:|\n";
  for (const LengthSeries& series : pictures.lengths)
    for (const LengthPoint& p : series.points)
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", escape_markdown(series.kernel),
                         escape_markdown(series.label), plain_number(p.kv_len), quantity_short("bytes", p.predicted),
                         quantity_short("bytes", p.measured), error_text(p.predicted / p.measured),
                         quantity_short("bytes", p.compulsory), quantity_short("bytes", p.no_cache));
  return out + "\n";
}

// "± 1.4 % (compute, 23), ± 2 % (memory, 2)": the bars of a kernel for a quantity.
std::string bars_of(const Pictures& pictures, const std::string& kernel, const std::string& quantity) {
  std::string text;
  for (const Bar& bar : pictures.bars)
    if (bar.kernel == kernel && bar.quantity == quantity)
      text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", tolerance_text(bar.p90),
                          bar.regime.empty() ? "" : escape_markdown(bar.regime) + ", ", plain_number(bar.n));
  return text.empty() ? "–" : text;
}

std::string bars(const Pictures& pictures) {
  std::string out = fmt::format(
      "## Error bars\n\nOver {}: by regime, with the number of records. DRAM reads and time as `predict` states them; "
      "clocks, and groups of kernels: nine of ten of the records.\n\n"
      "| kernel | DRAM read | clocks with a block | time |\n|---|--:|--:|--:|\n",
      escape_markdown(records_text(pictures)));
  std::vector<std::string> kernels;
  for (const Bar& bar : pictures.bars)
    if (kernels.empty() || kernels.back() != bar.kernel) kernels.push_back(bar.kernel);
  for (const std::string& kernel : kernels)
    out += fmt::format("| {} | {} | {} | {} |\n",
                       kernel == "*ours"     ? "ours"
                       : kernel == "*theirs" ? "third party"
                                             : escape_markdown(kernel),
                       bars_of(pictures, kernel, "hbm_read_bytes"), bars_of(pictures, kernel, "busy_cycles"),
                       bars_of(pictures, kernel, "seconds"));
  return out + "\n";
}

std::string splits(const Pictures& pictures) {
  std::string out =
      "## Where the time goes\n\nThe longest record of each kernel. Parts of the predicted time: the unit that bounds "
      "a kernel at "
      "full rate, what it waits for, multiprocessors without a "
      "block, launches.\n\n| kernel | record | predicted | measured | error | bound by | waits | no block | launch "
      "|\n|---|---|--:|--:|--:|---|--:|--:|--:|\n";
  for (const Split& split : pictures.splits) {
    if (!split.longest) continue;
    std::string busiest;
    for (const auto& [unit, seconds] : split.busiest)
      busiest += (busiest.empty() ? "" : ", ") + unit_name(unit) + " " + percent_text(seconds / split.predicted);
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", escape_markdown(split.kernel),
                       escape_markdown(split.label), quantity_text("seconds", split.predicted),
                       quantity_text("seconds", split.measured), error_text(split.predicted / split.measured), busiest,
                       percent_text(split.waits / split.predicted), percent_text(split.idle / split.predicted),
                       percent_text(split.launch / split.predicted));
  }
  return out + "\n";
}

std::string clocks(const Pictures& pictures) {
  std::string out =
      "## Clock and power\n\nThe longest record of each kernel. NVML's power is an average over about a second, of "
      "which the runs fill a fifth; the power cap is exact.\n\n"
      "| kernel | record | predicted | NVML | cycles over seconds | predicted | NVML | at the limit: model | GPU "
      "|\n|---|---|--:|--:|--:|--:|--:|---|---|\n";
  for (const ClockRow& row : pictures.clocks) {
    const std::string range =
        row.low_hz && row.high_hz ? fmt::format("{:.2f} to {:.2f} GHz", *row.low_hz / 1e9, *row.high_hz / 1e9) : "–";
    out += fmt::format("| {} | {} | {:.2f} GHz | {:.2f} GHz | {} | {:.0f} W | {:.0f} W | {} | {} |\n",
                       escape_markdown(row.kernel), escape_markdown(row.label), row.predicted_hz / 1e9,
                       row.nvml_hz / 1e9, range, row.predicted_watts, row.nvml_watts, row.at_limit ? "yes" : "no",
                       row.reports_cap ? "yes" : "no");
  }
  return out + "\n";
}

}  // namespace

std::string pictures_markdown(const Pictures& pictures) {
  std::string out;
  if (!pictures.lengths.empty()) out += lengths(pictures);
  if (!pictures.bars.empty()) out += bars(pictures);
  if (!pictures.splits.empty()) out += splits(pictures);
  if (!pictures.clocks.empty()) out += clocks(pictures);
  return out;
}

}  // namespace tilescope::report
