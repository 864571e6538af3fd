#include "base/dtype.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace tilescope {
namespace {

// Reads "<letter><positive integer>".
std::optional<std::int64_t> tagged_number(std::string_view text, char tag) {
  if (text.size() < 2 || text.front() != tag) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0 || value > 1 << 20) return std::nullopt;
  return value;
}

}  // namespace

std::string to_string(const Dtype& dtype) {
  if (dtype.scale_group == 0) return to_string(dtype.format);
  return fmt::format("{}:g{}:b{}", to_string(dtype.format), dtype.scale_group, dtype.scale_bytes);
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  const std::string_view name = parts[0] == "fp8" ? std::string_view("fp8_e4m3") : std::string_view(parts[0]);
  for (const FormatRow& row : EnumTable<Format>::rows) {
    if (row.name != name || !row.of_values) continue;
    if (parts.size() == 1) return Dtype{row.value};
    if (parts.size() > 3) return std::nullopt;
    const auto group = tagged_number(parts[1], 'g');
    const auto bytes = parts.size() == 3 ? tagged_number(parts[2], 'b') : std::optional<std::int64_t>(2);
    if (!group || !bytes) return std::nullopt;
    return Dtype{row.value, *group, *bytes};
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  return kind_names<Format>([](const FormatRow& row) { return row.of_values; });
}

}  // namespace tilescope
