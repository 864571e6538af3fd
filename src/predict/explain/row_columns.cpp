#include "predict/explain/row_columns.h"

#include <cmath>

#include "base/text.h"
#include "predict/explain/because.h"
#include "predict/explain/formula.h"
#include "predict/explain/prediction_columns.h"

namespace tilescope {
namespace {

Json binary_or_null(double bytes) { return bytes > 0 ? Json(with_binary(bytes)) : Json(nullptr); }
Json integer_or_null(double value) { return value > 0 ? Json(static_cast<std::int64_t>(value)) : Json(nullptr); }

std::int64_t both_ways(const IslandPrediction& island, Boundary boundary) {
  const auto& bytes = island.traffic[boundary];
  return bytes[0] + bytes[1];
}

// Text for people; JSON says null.
Json or_not_modelled(const Json& value) { return value.is_null() ? Json("not modelled") : value; }

const char* fits_text(const FootprintRow& row) {
  return row.capacity_bytes == 0 ? "capacity unknown" : row.within() ? "yes" : row.fits() ? row.compiled : "no";
}

std::string array_of(const TermRow& r) {
  return r.term.array < 0 ? cause_name(r.term.cause)
                          : r.plan.schedule.diagram.arrays[static_cast<std::size_t>(r.term.array)].name;
}

Json operand_bytes(const TrafficRow& r) {
  if (r.boundary != Boundary::smem) return Json(Json::value_t::discarded);
  return r.prediction.smem_modelled ? Json(r.prediction.operand_bytes) : Json(nullptr);
}

Json total_bytes(const TrafficRow& r) {
  const Json read = bytes_at(r.prediction, r.boundary, Direction::read);
  if (read.is_null()) return or_not_modelled(read);
  return read.get<std::int64_t>() + bytes_at(r.prediction, r.boundary, Direction::write).get<std::int64_t>();
}

}  // namespace

Json bytes_at(const Prediction& prediction, Boundary boundary, Direction direction) {
  if (boundary == Boundary::smem && !prediction.smem_modelled) return nullptr;  // not modelled is not zero
  if (!counted_in(prediction, boundary)) return nullptr;
  return prediction.traffic[boundary][static_cast<std::size_t>(direction)];
}

const Columns<TrafficRow>& traffic_columns() {
  using R = TrafficRow;
  const auto bytes = [](Direction direction) {
    return [direction](const R& r) { return bytes_at(r.prediction, r.boundary, direction); };
  };
  const auto text = [](Direction direction) {
    return [direction](const R& r) { return or_not_modelled(bytes_at(r.prediction, r.boundary, direction)); };
  };
  static const Columns<R> columns{
      {{"level", "level", "", "Memory level.", Origin::question}, [](const R& r) { return to_string(r.boundary); }},
      {{"read_bytes", "read", "B", "Bytes that the level serves inwards.", Origin::loops},
       bytes(Direction::read),
       text(Direction::read)},
      {{"write_bytes", "write", "B", "Bytes that the level takes from inside.", Origin::loops},
       bytes(Direction::write),
       text(Direction::write)},
      json_only<R>({"operand_read_bytes", "operands", "B",
                    "At smem: bytes read as operands of matrix instructions, or to transpose them.", Origin::loops},
                   operand_bytes),
      text_only<R>({"total_bytes", "total", "B", "Bytes read and written.", Origin::loops}, total_bytes),
  };
  return columns;
}

const Columns<KernelRow>& kernel_columns() {
  using R = KernelRow;
  static const Columns<R> columns{
      {{"island", "kernel", "", "Kernel of the schedule.", Origin::question}, [](const R& r) { return r.name; }},
      {{"blocks", "blocks", "", "Thread blocks of the grid.", Origin::loops},
       [](const R& r) { return r.island.blocks; }},
      json_only<R>(
          {"blocks_per_unit", "blocks/SM", "", "Thread blocks that a multiprocessor holds at a time.", Origin::profile},
          [](const R& r) { return r.island.blocks_per_unit; }),
      json_only<R>(
          {"l2_model", "L2 model", "",
           "walk: all blocks through a model of the cache; closed: a formula over waves of blocks.", Origin::cache},
          [](const R& r) { return to_string(r.island.l2_walked ? L2Model::walk : L2Model::closed); }),
      {{"hbm_bytes", "hbm_bytes", "B", "Bytes read and written at hbm.", Origin::cache},
       [](const R& r) { return both_ways(r.island, Boundary::hbm); }},
      {{"l2_bytes", "l2_bytes", "B", "Bytes read and written at l2.", Origin::loops},
       [](const R& r) { return both_ways(r.island, Boundary::l2); }},
      {{"tensor_flop", "tensor_flop", "FLOP", "Matrix FLOP that whole tiles execute.", Origin::loops},
       [](const R& r) { return r.island.work.tensor_flop; }},
      json_only<R>({"exp", "exp", "", "Exponentials of clipped tiles.", Origin::loops},
                   [](const R& r) { return r.island.work.exp; }),
      {{"seconds", "microseconds", "s", "Time alone after a pause, without launch.", Origin::time_model},
       [](const R& r) { return r.runs ? Json(r.island.seconds) : Json(nullptr); },
       [](const R& r) { return r.runs ? Json(r.island.seconds * 1e6) : Json(nullptr); }},
      json_only<R>({"sm_cycles", "SM cycles", "clk", "Clocks from the first block's start to the last one's end.",
                    Origin::time_model},
                   [](const R& r) { return r.runs ? Json(r.island.sm_clocks) : Json(nullptr); }),
      {{"bound_by", "bound_by", "", "The resource that takes longest by itself.", Origin::time_model},
       [](const R& r) { return r.runs ? Json(to_string(r.island.bound_by)) : Json(nullptr); }},
  };
  return columns;
}

const Columns<FootprintLine>& footprint_columns() {
  using R = FootprintLine;
  static const Columns<R> columns{
      {{"level", "level", "", "Memory level: smem and register hold tiles, hbm the arrays.", Origin::question},
       [](const R& r) { return to_string(r.row.level); }},
      {{"island", "kernel", "", "Kernel of the schedule; all: what they keep together.", Origin::question},
       [](const R& r) { return r.kernel; }},
      {{"bytes", "bytes", "B", "Bytes of a thread block; at hbm of all arrays.", Origin::loops},
       [](const R& r) { return r.row.bytes; }},
      {{"capacity_bytes", "capacity", "B",
        "Bytes that a thread block may have, at hbm the GPU's; null: the profile does not say.", Origin::profile},
       [](const R& r) { return integer_or_null(r.row.capacity_bytes); }},
      {{"largest", "largest", "", "The array or accumulator that takes most.", Origin::loops},
       [](const R& r) { return r.row.largest; }},
      text_only<R>({"fits", "fits", "", "Whether the bytes are within the capacity.", Origin::loops},
                   [](const R& r) { return fits_text(r.row); }),
  };
  return columns;
}

const Columns<BoundRow>& bound_columns() {
  using R = BoundRow;
  static const Columns<R> columns{
      {{"boundary", "level", "", "Memory level.", Origin::question},
       [](const R& r) { return to_string(r.bound.boundary); }},
      {{"island", "of", "", "Kernel that the bound is of; null: the whole schedule.", Origin::question},
       [](const R& r) { return r.kernel.empty() ? Json(nullptr) : Json(r.kernel); },
       [](const R& r) { return r.kernel.empty() ? "all" : r.kernel; }},
      {{"bound", "bound", "", "Name of the theorem.", Origin::bound}, [](const R& r) { return r.bound.name; }},
      {{"source", "source", "", "Where it is proved.", Origin::bound}, [](const R& r) { return r.bound.source; }},
      {{"memory_bytes", "memory", "B", "Memory inside the level; null: the bound does not depend on it.",
        Origin::profile},
       [](const R& r) { return integer_or_null(r.bound.memory_bytes); },
       [](const R& r) { return binary_or_null(r.bound.memory_bytes); }},
      {{"bytes", "bytes", "B", "Bytes that no schedule can avoid.", Origin::bound},
       [](const R& r) { return r.bound.bytes; },
       [](const R& r) { return static_cast<std::int64_t>(r.bound.bytes); }},
      {{"moved_bytes", "moved", "B", "Bytes that this schedule moves.", Origin::loops},
       [](const R& r) { return r.bound.moved_bytes; }},
      {{"times", "times", "", "moved_bytes / bytes.", Origin::bound}, [](const R& r) { return r.bound.times(); }},
  };
  return columns;
}

const Columns<TermRow>& term_columns() {
  using R = TermRow;
  static const Columns<R> columns{
      {{"island", "kernel", "", "Kernel of the schedule.", Origin::question},
       [](const R& r) { return r.plan.schedule.islands[static_cast<std::size_t>(r.term.island)].name; }},
      {{"boundary", "level", "", "Memory level that the bytes cross.", Origin::question},
       [](const R& r) { return to_string(r.term.boundary); }},
      {{"array", "array", "", "Array whose bytes move, or what else moves them.", Origin::loops}, array_of},
      {{"direction", "direction", "", "read: inwards; write: outwards.", Origin::loops},
       [](const R& r) { return to_string(r.term.direction); }},
      json_only<R>({"kind", "kind", "", "What moves the bytes.", Origin::loops},
                   [](const R& r) { return cause_name(r.term.cause); }),
      {{"bytes", "bytes", "B", "Bytes of the term; a level's traffic is the sum of its terms.", Origin::loops},
       [](const R& r) { return r.term.bytes; }},
      {{"formula", "formula", "", "The bytes in the sizes and tiles of the schedule.", Origin::loops},
       [](const R& r) { return formula(r.plan, r.point, r.term); }},
      {{"because", "because", "", "The loops that cause the bytes.", Origin::loops},
       [](const R& r) { return because(r.plan, r.point, r.term); },
       [](const R& r) { return join(because(r.plan, r.point, r.term), "; "); }},
  };
  return columns;
}

const Columns<ResourceRow>& resource_columns() {
  using R = ResourceRow;
  static const Columns<R> columns{
      {{"name", "resource", "", "Resource.", Origin::question}, [](const R& r) { return to_string(r.resource); }},
      {{"seconds", "microseconds", "s", "Busy time with everything else overlapped; null: no rate is known.",
        Origin::time_model},
       [](const R& r) { return r.seconds < 0 ? Json(nullptr) : Json(r.seconds); },
       [](const R& r) { return r.seconds < 0 ? Json("rate unknown") : Json(r.seconds * 1e6); }},
  };
  return columns;
}

const Columns<GainRow>& gain_columns() {
  using R = GainRow;
  static const Columns<R> columns{
      {{"thing", "thing", "", "What is 10 % faster.", Origin::question}, [](const R& r) { return to_string(r.lever); }},
      {{"part", "percent", "", "Part of the time saved.", Origin::time_model},
       [](const R& r) { return r.part; },
       [](const R& r) { return std::round(r.part * 1e4) / 100; }},
  };
  return columns;
}

const Columns<EnergyRow>& energy_columns() {
  using R = EnergyRow;
  static const Columns<R> columns{
      {{"item", "item", "", "Level that moves bytes, or kind of operation.", Origin::question},
       [](const R& r) { return to_string(r.item); }},
      {{"amount", "amount", "", "Bytes read and written at the level, FLOP, or operations of a thread.", Origin::loops},
       [](const R& r) { return std::llround(r.energy.amount); }},
      {{"unit", "unit", "", "Unit of the amount.", Origin::question},
       [](const R& r) { return std::string(properties(r.item).unit); }},
      {{"joules_each", "pJ each", "J", "Energy of one, above that of a busy GPU, as measured.", Origin::profile},
       [](const R& r) { return r.energy.amount > 0 ? Json(r.energy.joules / r.energy.amount) : Json(nullptr); },
       [](const R& r) {
         return r.energy.amount > 0 ? Json(std::round(r.energy.joules / r.energy.amount * 1e14) / 100) : Json(nullptr);
       }},
      {{"joules", "uJ", "J", "Amount times energy, of one run with an empty L2, at the clocks of the measurement.",
        Origin::time_model},
       [](const R& r) { return r.energy.joules; },
       [](const R& r) { return std::round(r.energy.joules * 1e8) / 100; }},
      {{"share", "percent", "", "Part of the energy of all items.", Origin::time_model},
       [](const R& r) { return r.share; },
       [](const R& r) { return std::round(r.share * 1e3) / 10; }},
  };
  return columns;
}

bool counted_in(const Prediction& prediction, LevelId level) {
  return properties(level).required || prediction.traffic.both(level) > 0;
}

std::vector<TrafficRow> traffic_rows(const Prediction& prediction) {
  std::vector<TrafficRow> rows;
  for (const LevelId level : counted_levels)
    if (counted_in(prediction, level)) rows.push_back({level, prediction});
  return rows;
}

std::vector<KernelRow> kernel_rows(const Plan& plan, const Prediction& prediction) {
  std::vector<KernelRow> rows;
  for (std::size_t i = 0; i < prediction.islands.size(); ++i)
    rows.push_back({plan.schedule.islands[i].name, prediction.islands[i], prediction.feasible});
  return rows;
}

std::vector<FootprintLine> footprint_rows(const Plan& plan, const Prediction& prediction) {
  std::vector<FootprintLine> rows;
  for (const FootprintRow& row : prediction.footprint)
    rows.push_back(
        {row.island == every_island ? "all" : plan.schedule.islands[static_cast<std::size_t>(row.island)].name, row});
  return rows;
}

std::vector<BoundRow> bound_rows(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                 const Prediction& prediction) {
  std::vector<BoundRow> rows;
  for (const TrafficBound& bound : lower_bounds(plan, hardware, point, prediction))
    rows.push_back({bound.island < 0 ? "" : plan.schedule.islands[static_cast<std::size_t>(bound.island)].name, bound});
  return rows;
}

std::vector<TermRow> term_rows(const Plan& plan, const Point& point, const Prediction& prediction) {
  std::vector<TermRow> rows;
  for (const Term& term : prediction.terms) rows.push_back({plan, point, term});
  return rows;
}

std::vector<ResourceRow> resource_rows(const Prediction& prediction) {
  std::vector<ResourceRow> rows;
  if (!prediction.feasible) return rows;
  for (std::size_t i = 0; i < resource_count; ++i)
    if (static_cast<Resource>(i) != Resource::llc || counted_in(prediction, LevelId::llc))
      rows.push_back({static_cast<Resource>(i), prediction.time.seconds[i]});
  return rows;
}

std::vector<GainRow> gain_rows(const Prediction& prediction) {
  std::vector<GainRow> rows;
  if (!prediction.feasible) return rows;
  for (std::size_t i = 0; i < lever_count; ++i) rows.push_back({static_cast<Lever>(i), prediction.time.gain[i]});
  return rows;
}

std::vector<EnergyRow> energy_rows(const Prediction& prediction) {
  double all = 0;
  for (const ItemEnergy& item : prediction.time.energy) all += item.joules;
  std::vector<EnergyRow> rows;
  if (all <= 0 || !prediction.feasible) return rows;
  for (std::size_t i = 0; i < prediction.time.energy.size(); ++i)
    if (const ItemEnergy& item = prediction.time.energy[i]; item.joules > 0)
      rows.push_back({static_cast<EnergyItem>(i), item, item.joules / all});
  return rows;
}

double transfer_share(const Prediction& prediction) {
  double share = 0;
  for (const EnergyRow& row : energy_rows(prediction))
    if (properties(row.item).transfer) share += row.share;
  return share;
}

std::vector<ColumnList> prediction_column_lists() {
  std::vector<ColumnList> lists{{"point", "predict, explain, sweep, compare", {}}};
  for (const PredictionColumn& column : prediction_columns(std::vector<std::string>{"NAME"}))
    lists[0].columns.push_back(column);
  lists.push_back(listed("traffic", "predict, explain: traffic[]", traffic_columns()));
  lists.push_back(listed("kernels", "predict, explain: kernels[]", kernel_columns()));
  lists.push_back(listed("footprint", "predict, explain: footprint[]", footprint_columns()));
  lists.push_back(listed("bounds", "explain: bounds[]", bound_columns()));
  lists.push_back(listed("terms", "explain: terms[]", term_columns()));
  lists.push_back(listed("resources", "predict, explain: time.resources[]", resource_columns()));
  lists.push_back(listed("energy", "predict, explain: energy.items[]", energy_columns()));
  lists.push_back(listed("gains", "predict: what 10 % more of one thing would save", gain_columns()));
  return lists;
}

}  // namespace tilescope
