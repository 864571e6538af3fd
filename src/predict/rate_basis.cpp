#include "predict/rate_basis.h"

#include <array>

namespace tilescope {
namespace {

struct BasisGroup {
  const char* resource;
  const char *group, *key;  // of `measured`; empty key: all of the group
  bool in_bound;            // also of a lower bound
};
constexpr std::array<BasisGroup, 10> basis_groups{{{"hbm", "hbm", "", true},
                                                   {"llc", "llc", "", true},
                                                   {"l2", "l2", "", true},
                                                   {"smem", "smem", "", false},
                                                   {"tensor", "tensor", "", false},
                                                   {"xu", "pipes", "ex2", false},
                                                   {"fma", "pipes", "ffma", false},
                                                   {"launch", "launch", "", false},
                                                   {"clock", "clock", "", false},
                                                   {"power", "power", "", false}}};

Basis basis_of(const HardwareProfile& hardware, const BasisGroup& of) {
  return basis_of_group(hardware, of.group, of.key);
}

}  // namespace

std::string model_name(const Prediction& prediction) { return prediction.time.modelled ? "blocks" : "bound"; }

std::vector<ResourceBasis> resource_bases(const HardwareProfile& hardware, const Prediction& prediction) {
  std::vector<ResourceBasis> rows;
  for (std::size_t i = 0; i < basis_groups.size(); ++i) {
    const BasisGroup& of = basis_groups[i];
    if (i == static_cast<std::size_t>(Resource::llc) && prediction.traffic.both(LevelId::llc) == 0) continue;
    if (prediction.time.modelled) rows.push_back({of.resource, basis_of(hardware, of)});
    else if (i < resource_count)  // the rates of the profile's levels and compute block
      rows.push_back({of.resource, of.in_bound ? basis_of(hardware, of) : Basis::published});
  }
  return rows;
}

Basis overall_basis(const HardwareProfile& hardware, const Prediction& prediction) {
  const std::vector<ResourceBasis> rows = resource_bases(hardware, prediction);
  Basis basis = rows.front().basis;
  for (const ResourceBasis& row : rows) basis = together(basis, row.basis);
  return basis;
}

Basis modelled_basis(const HardwareProfile& hardware) {
  Prediction modelled;
  modelled.time.modelled = true;
  return overall_basis(hardware, modelled);
}

}  // namespace tilescope
