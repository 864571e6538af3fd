#include "predict/explain/prediction_json.h"

#include "predict/explain/because.h"
#include "predict/explain/bounds.h"
#include "predict/explain/formula.h"
#include "predict/explain/notes.h"

namespace tilescope {
namespace {

Json work_json(const Work& work) {
  Json json{{"tensor_flop", work.tensor_flop},
            {"model_flop", work.model_flop},
            {"clipped_flop", work.clipped_flop},
            {"fma_flop", work.fma_flop()},
            {"exp", work.exp}};
  for (std::size_t i = 0; i < pipe_count; ++i) json[to_string(static_cast<Pipe>(i))] = work.pipes[i];
  return json;
}

Json traffic_json(const Prediction& prediction) {
  Json list = Json::array();
  for (std::size_t b = 0; b < boundary_count; ++b) {
    Json row{{"level", to_string(static_cast<Boundary>(b))},
             {"read_bytes", prediction.traffic[b][0]},
             {"write_bytes", prediction.traffic[b][1]}};
    if (static_cast<Boundary>(b) == Boundary::smem) row["operand_read_bytes"] = prediction.operand_bytes;
    if (static_cast<Boundary>(b) == Boundary::smem && !prediction.smem_modelled)
      row["read_bytes"] = row["write_bytes"] = row["operand_read_bytes"] = nullptr;  // not modelled is not zero
    list.push_back(std::move(row));
  }
  return list;
}

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::tile:
      return "tile";
    case Cause::operand:
      return "operand";
    case Cause::fill:
      return "fill";
    case Cause::scales:
      return "scales of operands";
    case Cause::transpose:
      return "transposition";
    case Cause::staging:
      return "staging";
    case Cause::mma:
      return "matrix instructions";
    case Cause::fragments:
      return "operand fragments";
    case Cause::mask:
      return "block mask";
    case Cause::spill:
      return "spilled registers";
    case Cause::missed:
      return "missed L2";
    case Cause::pointwise:
      return "pointwise instructions";
  }
  return "";
}

Json terms_json(const Plan& plan, const Point& point, const Prediction& prediction) {
  Json list = Json::array();
  for (const Term& term : prediction.terms) {
    const std::string array = term.array < 0 ? cause_name(term.cause)
                                             : plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name;
    list.push_back({{"island", plan.schedule.islands[static_cast<std::size_t>(term.island)].name},
                    {"boundary", to_string(term.boundary)},
                    {"array", array},
                    {"direction", to_string(term.direction)},
                    {"kind", cause_name(term.cause)},
                    {"bytes", term.bytes},
                    {"formula", formula(plan, point, term)},
                    {"because", because(plan, point, term)}});
  }
  return list;
}

Json bounds_json(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction) {
  Json list = Json::array();
  for (const TrafficBound& bound : lower_bounds(plan, hardware, point, prediction))
    list.push_back(
        {{"boundary", to_string(bound.boundary)},
         {"island",
          bound.island < 0 ? Json(nullptr) : Json(plan.schedule.islands[static_cast<std::size_t>(bound.island)].name)},
         {"bound", bound.name},
         {"source", bound.source},
         {"memory_bytes", bound.memory_bytes > 0 ? Json(static_cast<std::int64_t>(bound.memory_bytes)) : Json(nullptr)},
         {"bytes", bound.bytes},
         {"moved_bytes", bound.moved_bytes},
         {"times", bound.times()}});
  return list;
}

// What each kernel of the schedule does on its own; the totals above are their sums.
Json kernels_json(const Plan& plan, const Prediction& prediction) {
  Json list = Json::array();
  for (std::size_t i = 0; i < prediction.islands.size(); ++i) {
    const IslandPrediction& island = prediction.islands[i];
    const auto bytes = [&](Boundary b) {
      return island.traffic[static_cast<std::size_t>(b)][0] + island.traffic[static_cast<std::size_t>(b)][1];
    };
    list.push_back({{"island", plan.schedule.islands[i].name},
                    {"blocks", island.blocks},
                    {"blocks_per_unit", island.blocks_per_unit},
                    {"l2_model", island.l2_walked ? "walk" : "closed"},
                    {"hbm_bytes", bytes(Boundary::hbm)},
                    {"l2_bytes", bytes(Boundary::l2)},
                    {"tensor_flop", island.work.tensor_flop},
                    {"exp", island.work.exp},
                    {"seconds", island.seconds},
                    {"sm_cycles", island.sm_clocks},
                    {"bound_by", to_string(island.bound_by)}});
  }
  return list;
}

Json footprint_json(const Plan& plan, const Prediction& prediction) {
  Json list = Json::array();
  for (const FootprintRow& row : prediction.footprint) {
    Json entry{{"level", to_string(row.level)},
               {"island", plan.schedule.islands[static_cast<std::size_t>(row.island)].name},
               {"bytes", row.bytes}};
    entry["capacity_bytes"] =
        row.capacity_bytes > 0 ? Json(static_cast<std::int64_t>(row.capacity_bytes)) : Json(nullptr);
    entry["largest"] = row.largest;
    list.push_back(std::move(entry));
  }
  return list;
}

Json error_json(const std::optional<TimeError>& error) {
  if (!error) return {{"mape", nullptr}, {"n", 0}, {"basis", "no record"}};
  return {{"mape", error->mape}, {"p90", error->p90}, {"n", error->n}, {"basis", error->basis}};
}

Json time_json(const HardwareProfile& hardware, const Prediction& prediction, const std::optional<TimeError>& error) {
  const TimePrediction& time = prediction.time;
  Json resources = Json::array();
  for (std::size_t i = 0; i < resource_count; ++i)
    resources.push_back({{"name", to_string(static_cast<Resource>(i))},
                         {"seconds", time.seconds[i] < 0 ? Json(nullptr) : Json(time.seconds[i])}});
  Json gains = Json::object();
  for (std::size_t i = 0; i < lever_count; ++i) gains[to_string(static_cast<Lever>(i))] = time.gain[i];
  return {{"seconds", time.total},
          {"cold_seconds", time.cold},
          {"sm_cycles", time.sm_cycles},
          {"busy_cycles", time.modelled ? Json(time.busy_cycles) : Json(nullptr)},
          {"launch_seconds", time.launch},
          {"clock_hz", time.clock_hz},
          {"watts", time.watts > 0 ? Json(time.watts) : Json(nullptr)},
          {"bound_by", to_string(time.bound_by)},
          {"model", time.modelled
                        ? "blocks on multiprocessors, floors of memory and L2, launch, clock under the power limit"
                        : "slowest resource of each kernel, everything else overlapped: a lower bound"},
          {"spills", time.spills ? Json(spill_text(prediction)) : Json(nullptr)},
          {"saved_by_10_percent", std::move(gains)},
          {"missing", missing_rates(hardware, prediction)},
          {"resources", std::move(resources)},
          {"error", error_json(error)}};
}

}  // namespace

Json point_json(const Plan& plan, const std::string& hardware_id, const Point& point) {
  const Workload& w = point.workload;
  Json dtypes, tile, sizes = Json::object();
  for (const Axis& axis : plan.schedule.diagram.axes)
    if (!axis.extent && !axis.chunks_of) sizes[axis.size] = axis.length;
  for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i)
    dtypes[plan.schedule.diagram.arrays[i].dtype_key] = to_string(point.dtypes[i]);
  for (std::size_t i = 0; i < plan.schedule.parameters.size(); ++i)
    tile[plan.schedule.parameters[i].name] = point.tiles[i];
  tile["warps"] = point.warps;
  if (point.stages > 0) tile["stages"] = point.stages;
  return {{"hardware", hardware_id},
          {"schedule", plan.schedule.name},
          {"kernel", plan.assumed ? Json(nullptr) : Json(plan.kernel.name)},
          {"pass", pass_of(plan.schedule.diagram)},
          {"diagram", plan.schedule.diagram.name},
          {"mask", point.mask.text},
          {"workload",
           {{"batch", w.batch},
            {"heads_q", w.heads_q},
            {"heads_kv", w.heads_kv},
            {"q_len", w.q_len},
            {"kv_len", w.kv_len},
            {"d_qk", w.d_qk},
            {"d_v", w.d_v}}},
          {"sizes", std::move(sizes)},
          {"dtypes", std::move(dtypes)},
          {"tile", std::move(tile)}};
}

Json to_json(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction,
             JsonOptions options) {
  Json json{{"schema", "tilescope/prediction/1"},
            {"point", point_json(plan, hardware.id, point)},
            {"feasible", prediction.feasible}};
  if (!prediction.runnable)
    json["infeasible"] = {{"level", "tensor"},
                          {"needed_bytes", nullptr},
                          {"available_bytes", nullptr},
                          {"largest", "no tensor rate for this dtype"}};
  for (const FootprintRow& row : prediction.footprint) {
    if (row.fits() || json.contains("infeasible")) continue;
    json["infeasible"] = {{"level", to_string(row.level)},
                          {"needed_bytes", row.bytes},
                          {"available_bytes", static_cast<std::int64_t>(row.capacity_bytes)},
                          {"largest", row.largest}};
  }
  json["work"] = work_json(prediction.work);
  json["traffic"] = traffic_json(prediction);
  json["compulsory_bytes"] = prediction.compulsory_bytes;
  json["lower_bound_bytes"] = lower_bound_bytes(plan, hardware, point, prediction);
  if (options.terms) json["bounds"] = bounds_json(plan, hardware, point, prediction);
  json["kernels"] = kernels_json(plan, prediction);
  if (options.terms) json["terms"] = terms_json(plan, point, prediction);
  json["footprint"] = footprint_json(plan, prediction);
  json["time"] = time_json(hardware, prediction, options.error);
  json["hbm_read_error"] = error_json(options.dram_error);
  return json;
}

}  // namespace tilescope
