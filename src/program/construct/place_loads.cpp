#include "program/construct/place_loads.h"

#include <algorithm>
#include <optional>

#include "base/contains.h"

namespace tilescope {
namespace {

using Kind = Statement::Kind;

class LoadPlacer {
 public:
  LoadPlacer(Levels& levels, const TileProgram& program, const std::vector<int>& readers, int tile,
             const SameVisits& same_visits)
      : levels_(levels), program_(program), readers_(readers), tile_(tile), same_visits_(same_visits) {}

  void run(int level) {
    Statement load{.kind = Kind::load, .tile = tile_, .last_of = common_last()};
    auto& first = levels_.before[static_cast<std::size_t>(level + 1)];
    const auto here = first_use(first);
    bool deeper = false;
    for (std::size_t i = static_cast<std::size_t>(level + 2); i < levels_.before.size(); ++i)
      for (auto* list : {&levels_.before, &levels_.after}) deeper = deeper || first_use((*list)[i]) != (*list)[i].end();
    if (deeper && here == first.end() && !load.last_of.empty()) return before_first_use(std::move(load));
    if (deeper || here != first.end()) {
      first.insert(here, std::move(load));
      return;
    }
    auto& rest = levels_.after[static_cast<std::size_t>(level + 1)];
    rest.insert(first_use(rest), std::move(load));
  }

 private:
  // Only at last visits in loops inside: then just before the first of them. A tile that stays is not loaded again.
  void before_first_use(Statement load) {
    for (std::size_t level = 0; level < levels_.before.size(); ++level)
      for (auto* list : {&levels_.before, &levels_.after}) {
        auto& statements = (*list)[level];
        const auto here = first_use(statements);
        if (here == statements.end()) continue;
        statements.insert(here, std::move(load));
        return;
      }
  }

  // Accumulators of the first use whose last visit every use awaits, by itself or by one with the same visits.
  std::vector<int> common_last() const {
    std::optional<std::vector<int>> common;
    const auto take = [&](const std::vector<Statement>& level) {
      for (const Statement& statement : level) {
        if (!used_by(statement)) continue;
        if (!common) common = statement.last_of;
        std::erase_if(*common, [&](int last) {
          return std::none_of(statement.last_of.begin(), statement.last_of.end(),
                              [&](int other) { return same_visits_(last, other); });
        });
      }
    };
    std::for_each(levels_.before.begin(), levels_.before.end(), take);  // as they run
    std::for_each(levels_.after.rbegin(), levels_.after.rend(), take);
    return common.value_or(std::vector<int>());
  }

  bool used_by(const Statement& statement) const {
    if (statement.kind != Kind::compute && statement.kind != Kind::fold && statement.kind != Kind::finalise)
      return false;
    return names(statement.value) || (statement.repair && names(*statement.repair)) ||
           contains(readers_, statement.tile);
  }
  std::vector<Statement>::iterator first_use(std::vector<Statement>& statements) const {
    return std::find_if(statements.begin(), statements.end(), [&](const Statement& one) { return used_by(one); });
  }

  bool names(const Expression& value) const {
    for (std::string name : value.arrays()) {
      if (name.ends_with('\'')) name.pop_back();
      const int read = program_.find(name);
      if (read == tile_ || (read >= 0 && program_.tiles[static_cast<std::size_t>(read)].view_of == tile_)) return true;
    }
    return false;
  }

  Levels& levels_;
  const TileProgram& program_;
  const std::vector<int>& readers_;
  int tile_;
  const SameVisits& same_visits_;
};

}  // namespace

void place_load(Levels& levels, const TileProgram& program, const std::vector<int>& readers, int tile, int level,
                const SameVisits& same_visits) {
  LoadPlacer(levels, program, readers, tile, same_visits).run(level);
}

}  // namespace tilescope
