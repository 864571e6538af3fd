#include "poly/symbols.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/contains.h"
#include "base/text.h"

namespace tilescope {
namespace {

// Allows only names that cannot be confused with an operator or a trip count in printed formulas.
void require_name(std::string_view name) {
  const auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  const bool starts_well = !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front()));
  if (!starts_well || !std::all_of(name.begin(), name.end(), allowed))
    throw std::invalid_argument(
        "a symbol's name must be letters, digits, '_' and '.', not starting with a digit; found " + shown_text(name));
}

bool same_definition(const SymbolDefinition& a, const SymbolDefinition& b) {
  return a.kind == b.kind && a.first == b.first && a.second == b.second && a.movers == b.movers &&
         a.relaxed == b.relaxed;
}

}  // namespace

SymbolId Symbols::intern(SymbolDefinition definition) {
  if (const auto known = by_text_.find(definition.text); known != by_text_.end()) {
    if (!same_definition((*this)[known->second], definition))
      throw std::invalid_argument("symbol '" + definition.text + "' is already defined as something else");
    return known->second;
  }
  const auto id = static_cast<SymbolId>(definitions_.size());
  const bool supplied = definition.kind == SymbolKind::input || definition.kind == SymbolKind::external;
  std::vector<SymbolId>& order = definition.kind == SymbolKind::input ? inputs_ : externals_;
  if (supplied) {
    definition.position = order.size();
    order.push_back(id);
  }
  by_text_.emplace(definition.text, id);
  definitions_.push_back(std::move(definition));
  return id;
}

SymbolId Symbols::input(std::string_view name) {
  require_name(name);
  return intern({.kind = SymbolKind::input, .text = std::string(name)});
}

SymbolId Symbols::ceil_ratio(SymbolId size, SymbolId tile) {
  std::string text = "ceil(" + (*this)[size].text + '/' + (*this)[tile].text + ')';
  return intern({.kind = SymbolKind::ceil_ratio, .text = std::move(text), .first = size, .second = tile});
}

SymbolId Symbols::gate(SymbolId trips, std::vector<SymbolId> movers) {
  std::sort(movers.begin(), movers.end());
  movers.erase(std::unique(movers.begin(), movers.end()), movers.end());
  std::string text = "gate(" + (*this)[trips].text;
  if (movers.empty())
    throw std::invalid_argument(text + "): a gate needs at least one mover; without movers the count is 1");
  if (contains(movers, trips)) return trips;
  for (std::size_t i = 0; i < movers.size(); ++i) text += (i == 0 ? "; " : ", ") + (*this)[movers[i]].text;
  return intern({.kind = SymbolKind::gate, .text = text + ')', .first = trips, .movers = std::move(movers)});
}

SymbolId Symbols::external(std::string_view name, Polynomial relaxed) {
  require_name(name);
  return intern({.kind = SymbolKind::external, .text = std::string(name), .relaxed = std::move(relaxed)});
}

}  // namespace tilescope
