// The symbols a count is made of, each defined once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "poly/polynomial.h"

namespace tilescope {

enum class SymbolKind {
  input,       // a size or a tile, a positive integer
  ceil_ratio,  // trips of a loop: ceil(size/tile)
  gate,        // trips if any mover has more than one trip, else 1: a loop of one trip does not move a tile
  external,    // supplied by the caller at evaluation, e.g. a sum over the live tiles of a mask
};

struct SymbolDefinition {
  SymbolKind kind = SymbolKind::input;
  std::string text{};              // as printed; unique in the table
  SymbolId first{}, second{};      // ceil_ratio: size, tile; gate: trips
  std::vector<SymbolId> movers{};  // gate
  Polynomial relaxed{};            // external
  std::size_t position = 0;        // input, external: among its kind, the order in which Program::run takes values
};

// Owns definitions; the same definition always has the same id. Misuse (an unprintable name, one name defined twice
// differently, a gate without movers) throws std::invalid_argument. Ids belong to the table that made them.
class Symbols {
 public:
  SymbolId input(std::string_view name);
  SymbolId ceil_ratio(SymbolId size, SymbolId tile);
  SymbolId gate(SymbolId trips, std::vector<SymbolId> movers);  // `trips` itself where it is one of the movers
  SymbolId external(std::string_view name, Polynomial relaxed);

  const SymbolDefinition& operator[](SymbolId id) const { return definitions_.at(static_cast<std::size_t>(id)); }
  std::size_t size() const { return definitions_.size(); }
  const std::vector<SymbolId>& inputs() const { return inputs_; }        // in order of definition
  const std::vector<SymbolId>& externals() const { return externals_; }  // likewise

 private:
  SymbolId intern(SymbolDefinition definition);

  std::vector<SymbolDefinition> definitions_;
  std::vector<SymbolId> inputs_, externals_;
  std::map<std::string, SymbolId, std::less<>> by_text_;
};

}  // namespace tilescope
