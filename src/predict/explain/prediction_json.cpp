#include "predict/explain/prediction_json.h"

#include "predict/explain/notes.h"
#include "predict/explain/prediction_columns.h"
#include "predict/explain/row_columns.h"

namespace tilescope {

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
    case Cause::conversion:
      return "conversion";
    case Cause::one_scale:
      return "scale of the array";
    case Cause::transpose:
      return "transposition";
    case Cause::staging:
      return "staging";
    case Cause::mma:
      return "matrix instructions";
    case Cause::fragments:
      return "operand fragments";
    case Cause::tensor_memory:
      return "tensor memory";
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

Json to_json(const std::optional<TimeError>& error) {
  if (!error) return {{"mape", nullptr}, {"n", 0}, {"basis", "no record"}};
  Json range = nullptr;  // of an ideal kernel
  if (const auto& found = error->range)
    range = {{"least", found->least}, {"low", found->low},   {"median", found->median},
             {"high", found->high},   {"most", found->most}, {"kernels", found->kernels}};
  return {{"mape", error->mape},
          {"p90", error->p90},
          {"n", error->n},
          {"basis", error->basis},
          {"borrowed_from", error->borrowed_from.empty() ? Json(nullptr) : Json(error->borrowed_from)},
          {"widened", error->widened},
          {"measured_over_predicted", std::move(range)}};
}

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
          {"model_of", plan.assumed ? "ideal kernel" : "kernel"},
          {"pass", to_string(pass_of(plan.schedule.diagram))},
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

Json unsupported_json(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                      const std::vector<std::string>& reasons) {
  return {{"schema", "tilescope/prediction/1"},
          {"point", point_json(plan, hardware.id, point)},
          {"feasible", false},
          {"unsupported", reasons}};
}

Json to_json(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& prediction,
             const JsonOptions& options) {
  Json json{{"schema", "tilescope/prediction/1"}, {"point", point_json(plan, hardware.id, point)}};
  static const std::vector<PredictionColumn> columns = prediction_columns(std::vector<std::string>{});
  const PredictedPoint row{plan, hardware, point, &prediction, options};
  add_fields(json, columns, shown::json_head, row);
  if (!prediction.runnable)
    json["infeasible"] = {{"level", "tensor"},
                          {"needed_bytes", nullptr},
                          {"available_bytes", nullptr},
                          {"largest", "no tensor rate for this dtype"}};
  for (const FootprintRow& level : prediction.footprint) {
    if (level.fits() || json.contains("infeasible")) continue;
    json["infeasible"] = {{"level", to_string(level.level)},
                          {"needed_bytes", level.bytes},
                          {"available_bytes", static_cast<std::int64_t>(level.capacity_bytes)},
                          {"largest", level.largest}};
  }
  add_fields(json["work"] = Json::object(), columns, shown::json_work, row);
  if (plan.assumed) json["products"] = Json::array();
  for (const ComputedProduct& each : computed_products(plan, hardware, point))
    json["products"].push_back({{"kernel", each.kernel},
                                {"operator", each.product},
                                {"computed_in", each.format},
                                {"reason", each.reason.empty() ? Json(nullptr) : Json(each.reason)},
                                {"converted", each.converted}});
  json["traffic"] = objects_of(traffic_columns(), traffic_rows(prediction));
  add_fields(json, columns, shown::json_top, row);
  if (options.terms) json["bounds"] = objects_of(bound_columns(), bound_rows(plan, hardware, point, prediction));
  json["kernels"] = objects_of(kernel_columns(), kernel_rows(plan, prediction));
  if (options.terms) json["terms"] = objects_of(term_columns(), term_rows(plan, point, prediction));
  json["footprint"] = objects_of(footprint_columns(), footprint_rows(plan, prediction));
  add_fields(json["time"] = Json::object(), columns, shown::json_time, row);
  if (const std::vector<EnergyRow> energy = energy_rows(prediction); !energy.empty())
    json["energy"] = {{"items", objects_of(energy_columns(), energy)}, {"transfer_share", transfer_share(prediction)}};
  json["hbm_read_error"] = to_json(options.dram_error);
  return json;
}

}  // namespace tilescope
