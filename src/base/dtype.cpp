#include "base/dtype.h"

#include <fmt/format.h>

#include <charconv>

#include "base/checked.h"
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

// The parts behind the format: g, then b (2 unless it is there) and z, which belong to groups; t.
std::optional<Dtype> with_scales(Format format, std::vector<std::string> parts) {
  Dtype dtype{.format = format};
  std::size_t next = 1;
  const auto take = [&](char tag, std::int64_t& value) {
    const auto number = next < parts.size() ? tagged_number(parts[next], tag) : std::nullopt;
    if (number) value = *number, ++next;
    return number.has_value();
  };
  if (take('g', dtype.scale_group)) {
    if (!take('b', dtype.scale_bytes)) dtype.scale_bytes = 2;
    take('z', dtype.zero_bits);
  }
  take('t', dtype.tensor_bytes);
  return next == parts.size() ? std::optional(dtype) : std::nullopt;
}

}  // namespace

std::optional<Format> parse_format(std::string_view text) {
  for (const FormatRow& row : EnumTable<Format>::rows)
    if (row.of_values && !text.empty() && (row.name == text || row.short_name == text)) return row.value;
  return std::nullopt;
}

Dtype dtype_of(Format format) {
  const Scales& scales = properties(format).scales;
  return {format, scales.group, scales.bytes, scales.zero_bits, scales.tensor_bytes};
}

std::string to_string(const Dtype& dtype) {
  std::string text = to_string(dtype.format);
  if (dtype == dtype_of(dtype.format)) return text;
  if (dtype.scale_group > 0) text += fmt::format(":g{}:b{}", dtype.scale_group, dtype.scale_bytes);
  if (dtype.zero_bits > 0) text += fmt::format(":z{}", dtype.zero_bits);
  if (dtype.tensor_bytes > 0) text += fmt::format(":t{}", dtype.tensor_bytes);
  return text;
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  const auto format = parse_format(parts[0]);
  if (!format) return std::nullopt;
  if (parts.size() == 1) return dtype_of(*format);
  if (properties(*format).element != *format) return std::nullopt;  // a block format's scales are its own
  return with_scales(*format, parts);
}

std::vector<std::string> dtype_names() {
  return kind_names<Format>([](const FormatRow& row) { return row.of_values; });
}

std::int64_t row_value_bytes(const Dtype& dtype, std::int64_t rows, std::int64_t length) {
  return checked_mul(rows, ceil_div(checked_mul(length, bits(dtype.format)), 8));
}

std::int64_t row_bytes(const Dtype& dtype, std::int64_t rows, std::int64_t length) {
  const std::int64_t values = row_value_bytes(dtype, rows, length);
  if (dtype.scale_group == 0) return values;
  const std::int64_t groups = ceil_div(length, dtype.scale_group);
  return checked_add(values,
                     checked_mul(rows, checked_add(checked_mul(groups, dtype.scale_bytes),
                                                   ceil_div(checked_mul(groups, dtype.zero_bits), std::int64_t{8}))));
}

}  // namespace tilescope
