#include "search/search_columns.h"

#include <fmt/format.h>

#include "predict/explain/labels.h"
#include "predict/point/support.h"

namespace tilescope {
namespace {

// tile_NAME of every parameter of the schedule, then warps and stages.
template <class Row>
Columns<Row> tile_columns_of(const std::vector<std::string>& tiles) {
  Columns<Row> columns;
  for (std::size_t i = 0; i < tiles.size(); ++i)
    columns.push_back({{"tile_" + tiles[i], "tile_" + tiles[i], "", "Tile size, a column a parameter of the schedule.",
                        Origin::question},
                       [i](const Row& r) { return r.tile.point.tiles[i]; }});
  columns.push_back({{"warps", "warps", "", "Warps of a thread block that compute.", Origin::question},
                     [](const Row& r) { return r.tile.point.warps; }});
  columns.push_back({{"stages", "stages", "", "Copies of each streamed input tile in shared memory.", Origin::question},
                     [](const Row& r) { return stages_of(r.plan.kernel, r.tile.point); }});
  return columns;
}

}  // namespace

Columns<TileRow> best_columns(const std::vector<std::string>& tiles) {
  Columns<TileRow> columns = tile_columns_of<TileRow>(tiles);
  const auto add = [&](const char* key, const char* unit, const char* meaning, Origin origin, auto value) {
    columns.push_back({{key, key, unit, meaning, origin}, value});
  };
  add("microseconds", "us", "Predicted time.", Origin::time_model,
      [](const TileRow& r) { return r.tile.seconds * 1e6; });
  add("busy_microseconds", "us", "Ranking key: time that counts occupied SMs only.", Origin::time_model,
      [](const TileRow& r) { return r.tile.busy_seconds * 1e6; });
  add("bound_by", "",
      "The resource that takes longest by itself; of several kernels, what bounds them for most of the time.",
      Origin::time_model, [](const TileRow& r) { return to_string(r.tile.bound_by); });
  add("hbm_bytes", "B", "Bytes read and written at hbm.", Origin::cache,
      [](const TileRow& r) { return r.tile.hbm_bytes; });
  add("l2_bytes", "B", "Bytes read and written at l2.", Origin::loops,
      [](const TileRow& r) { return r.tile.l2_bytes; });
  add("smem_bytes", "B", "Shared memory of a thread block.", Origin::loops,
      [](const TileRow& r) { return r.tile.smem_bytes; });
  add("l2", "", "How HBM bytes were found: walk, as predict does, or closed (tiles that are far behind).",
      Origin::question, [](const TileRow& r) { return to_string(r.tile.point.l2); });
  add("model", "", "blocks: time by the model of blocks; bound: the slowest resource, a lower bound.",
      Origin::time_model, [](const TileRow& r) { return r.tile.model; });
  add("basis", "", "Where the rates come from: measured, published, derived or mixed.", Origin::profile,
      [](const TileRow& r) { return to_string(r.tile.basis); });
  return columns;
}

Columns<FallenRow> fallen_columns(const std::vector<std::string>& tiles) {
  Columns<FallenRow> columns = tile_columns_of<FallenRow>(tiles);
  const auto add = [&](const char* key, const char* unit, const char* meaning, Origin origin, auto value) {
    columns.push_back({{key, key, unit, meaning, origin},
                       [value](const FallenRow& r) { return r.tile.runnable ? Json(value(r)) : Json(nullptr); }});
  };
  columns.push_back(
      {{"level", "level", "", "The first memory that is too small, or tensor: no rate for the format.", Origin::loops},
       [](const FallenRow& r) { return r.tile.runnable ? to_string(r.tile.row.level) : "tensor"; }});
  add("needed_bytes", "B", "Bytes of a thread block; at hbm of all arrays.", Origin::loops,
      [](const FallenRow& r) { return r.tile.row.bytes; });
  add("available_bytes", "B", "Bytes that a thread block may have; at hbm the GPU's.", Origin::profile,
      [](const FallenRow& r) { return r.available(); });
  add("too_many_bytes", "B", "needed_bytes - available_bytes.", Origin::loops,
      [](const FallenRow& r) { return r.tile.row.bytes - r.available(); });
  columns.push_back(
      {{"largest", "largest", "", "The array or accumulator that takes most.", Origin::loops}, [](const FallenRow& r) {
         return r.tile.runnable
                    ? std::string(r.tile.row.largest)
                    : fmt::format("{} states no tensor rate for {}", r.hardware.id, dtype_label(r.plan, r.tile.point));
       }});
  return columns;
}

std::vector<ColumnList> search_column_lists() {
  const std::vector<std::string> any{"NAME"};
  return {listed("tiles", "search: feasible[]", best_columns(any)),
          listed("fallen tiles", "search: infeasible[]", fallen_columns(any))};
}

}  // namespace tilescope
