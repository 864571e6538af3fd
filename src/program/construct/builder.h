// How build_program() places the statements of one kernel: state shared by build.cpp (values, loads, results) and
// build_folds.cpp (running state). No other file includes it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/contains.h"
#include "diagram/streamability.h"
#include "program/construct/build.h"
#include "program/construct/place_loads.h"
#include "program/construct/places.h"

namespace tilescope {

class TileProgramBuilder {
 public:
  TileProgramBuilder(const Schedule& schedule, const Primitives& primitives, int island);

  TileProgram run();  // throws NoProgram

 private:
  struct Running {
    StateVariable variable{};
    const Primitive* fold = nullptr;
    int tile = -1;
    Place update{};
    bool comes_back = false;
    bool late = false;  // it runs at the last step of a loop outside those that cut it
  };

  const Loop& loop(int i) const { return island_.loops[static_cast<std::size_t>(i)]; }
  int loop_count() const { return static_cast<int>(island_.loops.size()); }
  const Array& array(ArrayId id) const { return primitives_.array(id); }
  ProgramTile& made(int number) { return out_.tiles[static_cast<std::size_t>(number)]; }
  const ProgramTile& made(int number) const { return out_.tiles[static_cast<std::size_t>(number)]; }
  bool carries(const std::vector<AxisId>& axes, int i) const;
  [[noreturn]] void refuse(const std::string& reason) const { throw NoProgram{reason}; }

  // The statements of a level: what comes before the loop inside, the loop, what comes after it.
  std::vector<Statement> nest(int level);
  void put(const Place& place, Statement statement);
  int tile(const std::string& name, const std::vector<AxisId>& axes, std::optional<FoldKind> kind = {});
  int tile(ArrayId id) { return tile(array(id).name, array(id).axes); }
  // The tile is of this primitive, in whose place among the others its statements run.
  void belongs(int number, const Primitive& primitive);
  void put_in_order();
  void finish_before_overwriting(std::vector<Statement>& level) const;
  std::size_t finished_last(std::vector<Statement>& level, std::size_t first, std::size_t end) const;
  void finish_after_loops_inside(std::size_t outer);

  // Innermost loop that moves a value with these axes; blocks compute everything for themselves.
  int level_of(const std::vector<AxisId>& axes) const;
  const Primitive* producer(ArrayId id) const;
  // Loops that cut the fold: it is complete when they have ended.
  std::vector<int> cuts(const Primitive& fold) const;
  // The place of a value that needs these inputs, each complete, and runs in these loops at least.
  Place place_of(const std::string& what, int level, const std::vector<Place>& inputs) const;

  // Adds whatever makes the array complete on the chip; its place.
  Place complete(ArrayId id);
  Place loaded(ArrayId id);
  Place computed(const Primitive& primitive);
  bool masked(const std::vector<ArrayId>& inputs) const;
  void find_live(ArrayId id);  // everything that a result needs

  // ---- folds that loops cut (build_folds.cpp)

  // Whether folds over one of these axes stand before this one.
  bool follows_a_fold(const Primitive& fold) const;
  const Witness& witness(AxisId axis);
  // The variable of this name in the witness along the axis, updated where it can be.
  const Running& running(const StateVariable& variable, const Primitive& fold);
  std::vector<Place> needs_of(const StateVariable& variable, const Primitive& fold, const std::vector<int>& loops);
  std::vector<int> awaited_at_the_end(const Primitive& fold, const std::vector<int>& loops);
  void check_added_once(const Running& run, const std::vector<int>& loops) const;
  // Whether the same loops cut both folds, and each loop inside moves both accumulators or neither.
  bool same_visits(int a, int b) const;
  // Whether the place is reached at the last step of the loop only.
  bool ended(const Place& place, int i) const;
  // Whether what follows from the fold runs in a loop inside those that cut it: then it runs at their last step.
  bool needed_inside(const Primitive& fold, int outermost) const;
  bool ends_inside(ArrayId id, int outermost) const;
  bool follows_after(const Primitive& fold, int level) const;
  void add_update(const Running& run, const std::vector<int>& loops);
  void add_tile_by_tile(const Running& run, Statement fold);
  const Primitive& fold_of(const StateVariable& variable) const;
  const StateVariable* variable_of(const std::string& name, const std::vector<int>& loops);
  // Whether the state that later folds take under this fold's name is not its value: sum X for mean = sum X / size(x).
  bool differs_from_state(const Primitive& fold, const std::vector<int>& loops);
  // The finished value of a fold that loops cut.
  Place folded(const Primitive& fold);
  StateVariable own_variable(const Primitive& fold) const;
  // What a finished fold is: its value, the state that it follows from, and where all else that it needs exists.
  struct Finish {
    Expression value{};
    std::vector<const Running*> parts{};
    std::vector<Place> constants{};
  };
  Place finished(const Primitive& fold, const Finish& finish, const std::vector<int>& loops);
  // A sum that blocks or visits add to what lies in memory: each starts at 0 and adds what it has.
  void added_up(const Stored& how, const Primitive& fold);

  // ---- what leaves the chip

  void result(const Stored& how);
  void keep_in(int number, const Stored& how);
  // Of a result that nothing was folded into: its value, where that is a constant.
  double empty_value(ArrayId id) const;
  // Tiles whose operators read places from this one: a block table.
  std::vector<int> readers_of(int number) const;

  const Schedule& schedule_;
  const Primitives& primitives_;
  const Island& island_;
  std::vector<int> inside_;
  TileProgram out_;
  Levels levels_;
  std::map<ArrayId, Place> complete_;
  std::map<std::string, Running, std::less<>> running_;
  std::map<AxisId, Witness> witnesses_;
  std::vector<int> loads_;
  std::map<int, int> order_;  // of tiles: position of the primitive
  std::set<ArrayId> live_;
};

}  // namespace tilescope
