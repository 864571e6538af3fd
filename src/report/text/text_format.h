// How the report writes text and numbers in HTML, in Markdown and in CSV.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilescope::report {

std::string escape_html(std::string_view text);      // text or attribute value
std::string escape_markdown(std::string_view text);  // a table cell: one line, nothing in it is markup

std::string unit_of(const std::string& quantity);  // "read_bytes" -> "B"; empty for a plain count

// A number of the named quantity for reading: "69,222,400 B", "1.234 ms", "4.29 GFLOP"; a dash when it is absent.
std::string quantity_text(const std::string& quantity, std::optional<double> value);

// The same with 3 or 4 significant digits and a prefix: "69.22 MB".
std::string quantity_short(const std::string& quantity, std::optional<double> value, int digits = 4);

std::string percent_text(std::optional<double> fraction);     // 0.0123 -> "1.23 %"
std::string error_text(std::optional<double> ratio);          // 1.0123 -> "+1.23 %"
std::string tolerance_text(std::optional<double> tolerance);  // "± 3.00 %", "exact" for 0, "none"
// The same with the absolute allowance: "± 3.00 % or 64 KiB".
std::string allowed_text(std::optional<double> tolerance, double slack, const std::string& quantity);
std::string ratio_text(std::optional<double> ratio);    // four decimals
std::string plain_number(std::optional<double> value);  // for machines: shortest exact decimal, empty when absent

// "read_bytes" or "traffic read" at "hbm", and "traffic hbm read" without a level -> "HBM read".
std::string quantity_name(const std::string& quantity, const std::string& level);
std::string resource_name(const std::string& resource);  // hbm -> HBM, tensor -> tensor cores
std::string level_name(const std::string& level);        // in prose: hbm -> HBM, smem -> shared memory
std::string level_short(const std::string& level);       // in labels: hbm -> HBM, smem -> SMEM

}  // namespace tilescope::report
