// The tables inside a prediction, with a row a level, kernel, tile, bound, term or resource: their columns and rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/explain/bounds.h"
#include "predict/explain/column.h"
#include "predict/explain/prediction_json.h"

namespace tilescope {

struct TrafficRow {
  Boundary boundary = Boundary::hbm;
  const Prediction& prediction;
};
struct KernelRow {
  std::string name;
  const IslandPrediction& island;
  bool runs = true;  // false: its schedule is infeasible, so that it has no time
};
struct FootprintLine {
  std::string kernel;
  const FootprintRow& row;
};
struct BoundRow {
  std::string kernel;  // empty: the whole schedule
  TrafficBound bound;
};
struct TermRow {
  const Plan& plan;
  const Point& point;
  const Term& term;
};
struct ResourceRow {
  Resource resource = Resource::hbm;
  double seconds = 0;  // < 0: the rate is not known
};
struct GainRow {
  Lever lever = Lever::hbm;
  double part = 0;  // of the time
};
struct EnergyRow {
  EnergyItem item = EnergyItem::hbm;
  ItemEnergy energy;
  double share = 0;  // of all items
};

const Columns<TrafficRow>& traffic_columns();
const Columns<KernelRow>& kernel_columns();
const Columns<FootprintLine>& footprint_columns();
const Columns<BoundRow>& bound_columns();
const Columns<TermRow>& term_columns();
const Columns<ResourceRow>& resource_columns();
const Columns<GainRow>& gain_columns();
const Columns<EnergyRow>& energy_columns();

// Whether the prediction says something of a level: all do of those that every GPU has.
bool counted_in(const Prediction& prediction, LevelId level);

// The rows refer to the prediction and the plan, which must outlive them.
std::vector<TrafficRow> traffic_rows(const Prediction& prediction);
std::vector<KernelRow> kernel_rows(const Plan& plan, const Prediction& prediction);
std::vector<FootprintLine> footprint_rows(const Plan& plan, const Prediction& prediction);
std::vector<BoundRow> bound_rows(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                 const Prediction& prediction);
std::vector<TermRow> term_rows(const Plan& plan, const Point& point, const Prediction& prediction);
// Of times; empty where the point is infeasible.
std::vector<ResourceRow> resource_rows(const Prediction& prediction);
std::vector<GainRow> gain_rows(const Prediction& prediction);
std::vector<EnergyRow> energy_rows(const Prediction& prediction);  // none: the profile lacks energies
double transfer_share(const Prediction& prediction);               // of the energy; 0 where it is not known

// Bytes that a level serves inwards (read) or takes from there (write); null where they are not modelled.
Json bytes_at(const Prediction& prediction, Boundary boundary, Direction direction);

// Every table of a prediction, for the docs.
std::vector<ColumnList> prediction_column_lists();

}  // namespace tilescope
