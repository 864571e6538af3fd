#include "diagram/mask.h"

#include <charconv>

#include "base/text.h"
#include "diagram/workload.h"

namespace tilescope {
namespace {

// What stands after the ':' of a spelling; nullopt: the text spells another mask.
std::optional<std::string_view> argument_of(const MaskKindRow& row, std::string_view text) {
  const std::size_t colon = row.spelling.find(':');
  if (colon == std::string_view::npos) return text == row.spelling ? std::optional(std::string_view{}) : std::nullopt;
  if (!text.starts_with(row.spelling.substr(0, colon + 1))) return std::nullopt;
  return text.substr(colon + 1);
}

}  // namespace

std::optional<Mask> parse_mask(std::string_view text) {
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) {
    const auto argument = argument_of(row, text);
    if (!argument || row.pattern) continue;
    Mask mask{.kind = row.value, .text = std::string(text)};
    if (!row.bounded_below) return mask;
    const char* last = argument->data() + argument->size();
    const auto [end, error] = std::from_chars(argument->data(), last, mask.window);
    if (error == std::errc() && end == last && mask.window >= 1 && mask.window <= largest_extent) return mask;
  }
  return std::nullopt;
}

std::optional<std::string> mask_file(std::string_view text) {
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows)
    if (const auto file = argument_of(row, text); row.pattern && file && !file->empty()) return std::string(*file);
  return std::nullopt;
}

std::string mask_spellings() {
  std::vector<std::string> spellings;
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows)
    spellings.push_back(std::string(row.spelling) + (row.bounded_below ? " (W >= 1)" : ""));
  const std::string last = spellings.back();
  spellings.pop_back();
  return join(spellings, ", ") + " or " + last;
}

}  // namespace tilescope
