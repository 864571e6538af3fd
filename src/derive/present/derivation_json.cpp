#include "derive/present/bounds.h"
#include "derive/present/present.h"
#include "diagram/roles.h"

namespace tilescope {
namespace {

using Json = nlohmann::ordered_json;

Json streams_json(const Derivation& derivation) {
  static const char* const kinds[] = {"absent", "woven", "folded", "refused"};
  Json list = Json::array();
  for (const auto& [axis, stream] : derivation.axes) {
    Json entry{{"axis", derivation.primitives.diagram.axes[index(axis)].name},
               {"kind", kinds[static_cast<std::size_t>(stream.kind)]}};
    if (stream.kind == Streamability::Kind::refused) entry["reason"] = stream.reason;
    if (stream.witness)
      entry["witness"] = to_string(stream.witness->kind), entry["equations"] = equations(*stream.witness);
    list.push_back(std::move(entry));
  }
  return list;
}

Json tiles_json(const ScheduleProblem& problem, const BestTiles& best) {
  Json tiles = Json::object();
  for (std::size_t i = 0; i < best.tiles.size(); ++i)
    tiles[problem.symbolic.symbols[problem.tiles[i]].text] = best.tiles[i];
  return tiles;
}

Json ranked_json(const Derivation& derivation, const RankedFusion& fusion) {
  Json kernels = Json::array();
  for (const RankedKernel& kernel : fusion.kernels) {
    std::vector<std::string> results;
    for (const ArrayId id : kernel.kernel.region.results) results.push_back(derivation.primitives.array(id).name);
    kernels.push_back({{"results", results},
                       {"loops", to_text(derivation.primitives.diagram, kernel.loops)},
                       {"tiles", tiles_json(kernel.problem, kernel.best)},
                       {"traffic", kernel.best.traffic}});
  }
  return {{"traffic", fusion.traffic},
          {"certified_at_least", fusion.lower_bound},
          {"names", fusion.names},
          {"kernels", kernels}};
}

Json named_json(const NamedDerivation& named) {
  Json kernels = Json::array();
  for (std::size_t i = 0; i < named.problems.size(); ++i) {
    const Symbols& symbols = named.problems[i].symbolic.symbols;
    Json entry{{"kernel", named.schedule.islands[i].name},
               {"closed_form", named.optimum[i].closed ? Json(to_text(named.optimum[i], symbols)) : Json()},
               {"terms", Json::array()},
               {"columns", Json::array()}};
    for (const SymbolicTerm& term : named.problems[i].symbolic.terms)
      if (term.island == static_cast<int>(i))
        entry["terms"].push_back({{"array", named.schedule.diagram.array(term.array).name},
                                  {"direction", term.store ? "store" : "load"},
                                  {"values", to_text(term.values, symbols)}});
    for (const SymbolicColumn& column : named.problems[i].symbolic.columns)
      if (column.island == static_cast<int>(i))
        entry["columns"].push_back(
            {{"at", column.at}, {"live", column.live}, {"values", to_text(column.values, symbols)}});
    if (named.best[i].found)
      entry["best"] = {{"traffic", named.best[i].traffic},
                       {"certified_at_least", named.best[i].lower_bound},
                       {"tiles", tiles_json(named.problems[i], named.best[i])}};
    kernels.push_back(std::move(entry));
  }
  return {{"name", named.name},
          {"found", named.found},
          {"feasible", named.feasible},
          {"traffic", named.traffic},
          {"kernels", kernels}};
}

}  // namespace

nlohmann::ordered_json derivation_json(const Derivation& derivation, const Diagram& diagram) {
  Json roles = Json::object();
  for (const Operator& op : diagram.operators)
    for (std::size_t a = 0; a < diagram.axes.size(); ++a)
      roles[op.name][diagram.axes[a].name] = to_string(role_of(diagram, op, static_cast<AxisId>(static_cast<int>(a))));
  Json ranked = Json::array(), named = Json::array(), bounds = Json::array();
  for (const RankedFusion& fusion : derivation.ranked) ranked.push_back(ranked_json(derivation, fusion));
  for (const NamedDerivation& schedule : derivation.named) named.push_back(named_json(schedule));
  for (const DiagramBound& bound : bounds_of(derivation, diagram))
    bounds.push_back({{"name", bound.name},
                      {"values", bound.values},
                      {"holds_for", bound.holds_for},
                      {"asymptotic", bound.asymptotic},
                      {"source", bound.source}});
  return {{"schema", "tilescope/derivation/1"},
          {"diagram", diagram.name},
          {"memory", derivation.request.memory},
          {"unit", derivation.request.widths.empty() ? "values" : "bytes"},
          {"roles", roles},
          {"streams", streams_json(derivation)},
          {"enumeration",
           {{"fusions", derivation.fusions.fusions.size()},
            {"considered", derivation.fusions.considered},
            {"complete", derivation.fusions.complete && derivation.nests_complete},
            {"kernels_ranked", derivation.kernels_ranked},
            {"nests", derivation.nests_considered},
            {"legal", derivation.nests_legal},
            {"kept", derivation.nests_kept}}},
          {"compulsory", derivation.compulsory},
          {"bounds", bounds},
          {"ranked", ranked},
          {"schedules", named}};
}

}  // namespace tilescope
