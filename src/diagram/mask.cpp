#include "diagram/mask.h"

#include <charconv>

#include "base/text.h"
#include "diagram/workload.h"

namespace tilescope {
namespace {

// What stands after the ':' of a spelling; nullopt: the text spells another mask.
std::optional<std::string_view> argument_of(const MaskKindRow& row, std::string_view text) {
  if (row.argument == MaskArgument::none) return text == row.name ? std::optional(std::string_view{}) : std::nullopt;
  if (!text.starts_with(row.name) || text.substr(row.name.size(), 1) != ":") return std::nullopt;
  return text.substr(row.name.size() + 1);
}

// " (W >= 1)" for "window:W"
std::string note_of(const MaskKindRow& row) {
  if (row.argument != MaskArgument::count) return "";
  return " (" + std::string(row.spelling.substr(row.name.size() + 1)) + " >= 1)";
}

// The kind whose file the text names; nullptr: none.
const MaskKindRow* row_of_file(std::string_view text) {
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) {
    if (row.argument != MaskArgument::file) continue;
    if (const auto file = argument_of(row, text); file && !file->empty()) return &row;
  }
  return nullptr;
}

}  // namespace

std::optional<Mask> parse_mask(std::string_view text) {
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) {
    const auto argument = argument_of(row, text);
    if (!argument || row.argument == MaskArgument::file) continue;
    Mask mask{.kind = row.value, .text = std::string(text)};
    if (row.argument == MaskArgument::none) return mask;
    const char* last = argument->data() + argument->size();
    const auto [end, error] = std::from_chars(argument->data(), last, mask.count);
    if (error == std::errc() && end == last && mask.count >= 1 && mask.count <= largest_extent) return mask;
  }
  return std::nullopt;
}

std::optional<std::string> mask_file(std::string_view text) {
  const MaskKindRow* row = row_of_file(text);
  return row ? std::optional(std::string(*argument_of(*row, text))) : std::nullopt;
}

std::optional<MaskKind> mask_kind(std::string_view text) {
  if (const auto mask = parse_mask(text)) return mask->kind;
  const MaskKindRow* row = row_of_file(text);
  return row ? std::optional(row->value) : std::nullopt;
}

std::string mask_spellings(bool with_limits) {
  std::vector<std::string> spellings;
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows)
    spellings.push_back(std::string(row.spelling) + (with_limits ? note_of(row) : ""));
  const std::string last = spellings.back();
  spellings.pop_back();
  return join(spellings, ", ") + " or " + last;
}

}  // namespace tilescope
