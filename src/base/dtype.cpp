#include "base/dtype.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <span>

#include "base/text.h"

namespace tilescope {
namespace {

struct FormatRow {
  Format format;
  std::string_view name;
  int bits;
};

constexpr std::array formats{
    FormatRow{Format::fp32, "fp32", 32},        FormatRow{Format::tf32, "tf32", 32},
    FormatRow{Format::bf16, "bf16", 16},        FormatRow{Format::fp16, "fp16", 16},
    FormatRow{Format::fp8_e4m3, "fp8_e4m3", 8}, FormatRow{Format::fp8_e5m2, "fp8_e5m2", 8},
    FormatRow{Format::int8, "int8", 8},         FormatRow{Format::int4, "int4", 4},
    FormatRow{Format::int32, "int32", 32},
};
static_assert(formats.size() == format_count);
constexpr std::size_t value_formats = formats.size() - 1;  // all but int32

const FormatRow& row_of(Format format) { return formats[static_cast<std::size_t>(format)]; }

// Reads "<letter><positive integer>".
std::optional<std::int64_t> tagged_number(std::string_view text, char tag) {
  if (text.size() < 2 || text.front() != tag) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0 || value > 1 << 20) return std::nullopt;
  return value;
}

}  // namespace

int bits(Format format) { return row_of(format).bits; }
std::string to_string(Format format) { return std::string(row_of(format).name); }

std::string to_string(const Dtype& dtype) {
  if (dtype.scale_group == 0) return to_string(dtype.format);
  return fmt::format("{}:g{}:b{}", to_string(dtype.format), dtype.scale_group, dtype.scale_bytes);
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  const std::string_view name = parts[0] == "fp8" ? std::string_view("fp8_e4m3") : std::string_view(parts[0]);
  for (const FormatRow& row : std::span(formats).first(value_formats)) {
    if (row.name != name) continue;
    if (parts.size() == 1) return Dtype{row.format};
    if (parts.size() > 3) return std::nullopt;
    const auto group = tagged_number(parts[1], 'g');
    const auto bytes = parts.size() == 3 ? tagged_number(parts[2], 'b') : std::optional<std::int64_t>(2);
    if (!group || !bytes) return std::nullopt;
    return Dtype{row.format, *group, *bytes};
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const FormatRow& row : std::span(formats).first(value_formats)) names.emplace_back(row.name);
  return names;
}

}  // namespace tilescope
