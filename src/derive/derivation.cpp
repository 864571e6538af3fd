#include "derive/derivation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/contains.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "derive/best_nest.h"
#include "derive/checked.h"
#include "derive/least_traffic.h"

namespace tilescope {
namespace {

SymbolicOptions options_of(const DeriveRequest& request) {
  return symbolic_options(request.diagram, request.workload, request.mask);
}

// Bytes, or values, of the array counted once.
double amount(const Primitives& primitives, const DeriveRequest& request, ArrayId id) {
  return volume(primitives.diagram, request, id) * width(request, primitives.array(id));
}

// What a kernel must load or store of each array counted once, a lower bound for every nest. A load that some way to
// stream the diagram's folds cancels out of every result is not compulsory.
class Compulsory {
 public:
  Compulsory(const Derivation& derivation)
      : primitives_(derivation.primitives),
        request_(derivation.request),
        rules_(derivation.primitives, derivation.whole) {}

  double of(const FusedKernel& kernel) {
    double total = 0;
    for (const ArrayId id : kernel.loads) {
      const auto& source = primitives_.array(id).alias_of;
      if (source && contains(kernel.loads, *source)) continue;
      if (counts(kernel, id)) total += amount(primitives_, request_, id);
    }
    for (const ArrayId id : kernel.region.results) total += amount(primitives_, request_, id);
    return total;
  }
  bool counts(const FusedKernel& kernel, ArrayId load) {
    return std::any_of(kernel.region.results.begin(), kernel.region.results.end(),
                       [&](ArrayId result) { return needs(result, load); });
  }

 private:
  bool needs(ArrayId result, ArrayId id) {
    const auto [known, fresh] = needs_.try_emplace({result, id}, true);
    if (fresh) known->second = !rules_.avoids(id, result);
    return known->second;
  }

  const Primitives& primitives_;
  const DeriveRequest& request_;
  KernelRules rules_;
  std::map<std::pair<ArrayId, ArrayId>, bool> needs_;
};

// Runs the witness of each folded axis on random streams. One that differs from the direct folds is no proof: its axis
// is refused. NaN: no stream has a finite value, so none contradicts it.
void check_witnesses(Derivation& out) {
  constexpr double tolerance = 1e-9;
  for (auto& [axis, stream] : out.axes) {
    if (stream.kind != Streamability::Kind::folded) continue;
    const auto cascade = cascade_along(out.primitives, out.whole.region, axis);
    const auto* folds = std::get_if<Cascade>(&cascade);
    if (!folds) continue;
    const Verification found = verify(*folds, *stream.witness, 20261121);
    if (!(found.worst() > tolerance)) {
      out.proofs.emplace(axis, found);
      continue;
    }
    const std::string reason = fmt::format(
        "on random streams the derived algorithm differs from the direct folds by {:.1e} of their values, where {:.0e} "
        "is allowed: the derivation is wrong, or its running state cancels or overflows in double precision",
        found.worst(), tolerance);
    out.errors.push_back(fmt::format("stream over {}: {}", out.primitives.diagram.axes[index(axis)].name, reason));
    stream = {.kind = Streamability::Kind::refused, .reason = reason};
  }
}

class Ranking {
 public:
  Ranking(Derivation& derivation) : out_(derivation), bound_(derivation) {
    out_.compulsory = bound_.of(out_.whole);
    for (const FusedKernel& kernel : out_.fusions.kernels) least_.push_back(bound_.of(kernel));
  }

  // Visits fusions in ascending order of compulsory traffic, until no further one can be among the best.
  void run() {
    std::vector<std::pair<double, int>> order;
    for (std::size_t f = 0; f < out_.fusions.fusions.size(); ++f) {
      double least = 0;
      for (const int k : out_.fusions.fusions[f].kernels) least += least_[static_cast<std::size_t>(k)];
      order.emplace_back(least, static_cast<int>(f));
    }
    std::sort(order.begin(), order.end());
    for (const auto& [least, number] : order) {
      if (best_.size() >= out_.request.ranked && least >= best_.back().first) break;
      consider(number, least);
    }
    std::vector<RankedFusion> all;
    for (const auto& [traffic, number] : best_) all.push_back(ranked(number));
    std::vector<std::string> wrong(all.size());
    in_order(
        all.size(), out_.request.threads,
        [&](std::size_t i, std::size_t) {
          if (out_.request.run_programs) wrong[i] = wrong_program(all[i]);
        },
        [&](std::size_t i, std::size_t) {
          if (wrong[i].empty()) wrong[i] = wrong_traffic(all[i]);
          if (wrong[i].empty()) return out_.ranked.push_back(std::move(all[i]));
          std::vector<std::string> names;
          for (const RankedKernel& kernel : all[i].kernels) names.push_back(kernel.schedule.name);
          out_.errors.push_back(fmt::format("a derived schedule is wrong and is not ranked: schedule '{}': {}",
                                            join(names, "; then "), wrong[i]));
        });
  }

 private:
  const FusedKernel& kernel(int k) const { return out_.fusions.kernels[static_cast<std::size_t>(k)]; }

  struct Solved {
    RankedKernel kernel{};
    bool exact = false;  // kernel is the best; else none moves less than `at_least`
    double at_least = 0;
    Nests nests{};
  };

  // The kernel's best nest. nullptr: no nest moves less than `wanted`.
  const RankedKernel* solved(int k, double wanted) {
    const auto [found, fresh] = solved_.try_emplace(k);
    Solved& known = found->second;
    if (known.exact) return &known.kernel;
    if (!fresh && known.at_least >= wanted) return nullptr;
    if (fresh) known.nests = nests_of(k);
    known.kernel = best_nest(out_.primitives, kernel(k), known.nests, out_.request, wanted);
    known.exact = known.kernel.best.found || std::isinf(wanted), known.at_least = wanted;
    if (known.exact) known.nests = {};
    return known.exact ? &known.kernel : nullptr;
  }

  Nests nests_of(int k) {
    Nests nests = enumerate_nests(out_.primitives, kernel(k));
    const std::size_t left = out_.request.most_nests - out_.nests_kept;
    if (nests.survivors.size() > left)
      nests.survivors.erase(nests.survivors.begin() + static_cast<std::ptrdiff_t>(left), nests.survivors.end()),
          nests.complete = false;
    out_.nests_considered += nests.considered, out_.nests_legal += nests.legal,
        out_.nests_kept += nests.survivors.size(), ++out_.kernels_ranked;
    out_.nests_complete = out_.nests_complete && nests.complete;
    return nests;
  }

  // Kernels that are solved come first. Of another one only nests are of interest that leave the fusion among the best.
  void consider(int number, double least) {
    std::vector<int> kernels = out_.fusions.fusions[static_cast<std::size_t>(number)].kernels;
    std::stable_partition(kernels.begin(), kernels.end(), [&](int k) {
      const auto known = solved_.find(k);
      return known != solved_.end() && known->second.exact;
    });
    double total = least;
    for (const int k : kernels) {
      constexpr double near_tie = 1 + 4 * tile_gap;
      const double before = total - least_[static_cast<std::size_t>(k)];
      const double wanted = best_.size() < out_.request.ranked ? std::numeric_limits<double>::infinity()
                                                               : (best_.back().first - before) * near_tie;
      const RankedKernel* best = solved(k, wanted);
      if (!best || !best->best.found) return;
      total = before + best->best.traffic;
      // The remaining kernels only add traffic.
      if (best_.size() >= out_.request.ranked && total >= best_.back().first) return;
    }
    total = least;  // rounded as in every run
    for (const int k : out_.fusions.fusions[static_cast<std::size_t>(number)].kernels)
      total += solved_.at(k).kernel.best.traffic - least_[static_cast<std::size_t>(k)];
    best_.insert(std::upper_bound(best_.begin(), best_.end(), std::pair(total, number)), {total, number});
    if (best_.size() > out_.request.ranked) best_.pop_back();
  }

  RankedFusion ranked(int number) {
    const Fusion& fusion = out_.fusions.fusions[static_cast<std::size_t>(number)];
    RankedFusion result{.materialised = fusion.materialised};
    for (const int k : fusion.kernels) {
      result.kernels.push_back(solved_.at(k).kernel);
      result.traffic += result.kernels.back().best.traffic,
          result.lower_bound += result.kernels.back().best.lower_bound;
    }
    return result;
  }

  // Why a schedule cannot be an answer; empty: its programs are right, and it moves at least the compulsory bytes.
  std::string wrong_program(const RankedFusion& fusion) const {
    std::vector<Schedule> kernels;
    for (const RankedKernel& kernel : fusion.kernels) kernels.push_back(kernel.schedule);
    return wrong_in(out_.request.diagram, kernels, out_.request.mask);
  }
  std::string wrong_traffic(const RankedFusion& fusion) {
    const double least = out_.compulsory - unread(fusion);
    if (fusion.traffic >= least * (1 - 1e-6)) return {};
    return fmt::format("it moves {:.0f}, less than the compulsory {:.0f}", fusion.traffic, least);
  }

  // Of the compulsory inputs those that no kernel reads: its nest cancels them out.
  double unread(const RankedFusion& fusion) {
    double total = 0;
    for (const ArrayId id : out_.whole.loads) {
      const auto reads = [&](const RankedKernel& kernel) {
        return kernel.schedule.reads(kernel.schedule.islands.front(), id);
      };
      const auto& source = out_.primitives.array(id).alias_of;
      const bool view = source && contains(out_.whole.loads, *source);
      if (!view && bound_.counts(out_.whole, id) && std::none_of(fusion.kernels.begin(), fusion.kernels.end(), reads))
        total += amount(out_.primitives, out_.request, id);
    }
    return total;
  }

  Derivation& out_;
  Compulsory bound_;
  std::vector<double> least_;  // of each kernel
  std::map<int, Solved> solved_;
  std::vector<std::pair<double, int>> best_;
};

void add_problems(NamedDerivation& named, const DeriveRequest& request) {
  for (int i = 0; i < static_cast<int>(named.schedule.islands.size()); ++i) {
    ScheduleProblem problem = problem_of(named.schedule, options_of(request), i, request.widths);
    leave_out_ones(problem, named.schedule, request.workload);
    auto [tiles, sizes] = best_tiles(problem, named.schedule, request.workload, request.mask, request.memory);
    named.best.push_back(std::move(tiles));
    named.optimum.push_back(closed_form(problem, sizes));
    named.feasible = named.feasible && named.best.back().found;
    named.traffic += named.best.back().traffic;
    named.problems.push_back(std::move(problem));
  }
}

void find(NamedDerivation& named, const Derivation& derivation) {
  const NamedPoint point = locate(derivation.primitives, named.schedule);
  const Fusions narrower = point.omitted.empty()
                               ? Fusions{}
                               : enumerate_fusions(derivation.primitives,
                                                   {.omitted = point.omitted, .most = derivation.request.most_fusions});
  if (find_fusion(point.omitted.empty() ? derivation.fusions : narrower, point) < 0)
    named.missing_because = "its fusion is not among those enumerated";
  if (const std::string rule = broken_rule(derivation.primitives, point); !rule.empty()) named.missing_because = rule;
  named.found = named.missing_because.empty();
}

// A ranked fusion matches a named schedule if it has the same kernels with the same loops, ignoring axes of one
// element.
void add_names(Derivation& derivation) {
  Compulsory bound(derivation);
  const auto shortened = [&](AxisLoops loops) {
    std::erase_if(loops, [&](const AxisLoop& loop) {
      return derivation.primitives.diagram.axes[index(loop.axis)].size_in(derivation.request.workload) == 1;
    });
    return loops;
  };
  for (const NamedDerivation& named : derivation.named) {
    const NamedPoint point = locate(derivation.primitives, named.schedule);
    const auto splits = [](const NamedKernel& kernel) {
      return std::any_of(kernel.loops.begin(), kernel.loops.end(), [](const AxisLoop& loop) { return loop.parts; });
    };
    if (std::any_of(point.kernels.begin(), point.kernels.end(), splits)) continue;  // not ranked
    for (RankedFusion& ranked : derivation.ranked) {
      const auto same = [&](const NamedKernel& kernel) {
        return std::any_of(ranked.kernels.begin(), ranked.kernels.end(), [&](const RankedKernel& other) {
          // A kernel that moves everything once is equal under any loops.
          const bool once = other.best.traffic <= bound.of(other.kernel) * (1 + 1e-9);
          return other.kernel == kernel.kernel && (once || shortened(other.loops) == shortened(kernel.loops));
        });
      };
      if (ranked.kernels.size() == point.kernels.size() &&
          std::all_of(point.kernels.begin(), point.kernels.end(), same))
        ranked.names.push_back(named.name);
    }
  }
}

bool same_structure(const Diagram& a, const Diagram& b) {
  const auto same_axis = [](const Axis& x, const Axis& y) { return x.name == y.name && x.size == y.size; };
  const auto same_array = [](const Array& x, const Array& y) {
    return x.name == y.name && x.axes == y.axes && x.role == y.role;
  };
  const auto same_operator = [](const Operator& x, const Operator& y) {
    return x.kind == y.kind && x.inputs == y.inputs && x.outputs == y.outputs;
  };
  return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(), same_axis) &&
         std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(), same_array) &&
         std::equal(a.operators.begin(), a.operators.end(), b.operators.begin(), b.operators.end(), same_operator);
}

// A shipped schedule on the request's diagram; nothing when it has other axes or operators.
std::optional<Schedule> applied(const std::string& name, const DeriveRequest& request,
                                const std::filesystem::path& models_directory) {
  try {
    Schedule schedule = find_schedule(name, models_directory, request.source);
    if (same_structure(schedule.source, request.diagram)) return schedule;
  } catch (const InputError&) {  // it does not fit this diagram
  }
  return std::nullopt;
}

}  // namespace

NamedDerivation derive_named(const Derivation& derivation, const std::string& name, Schedule schedule) {
  const DeriveRequest& request = derivation.request;
  for (std::size_t a = 0; a < request.diagram.axes.size(); ++a)
    schedule.diagram.axes[a].length = request.diagram.axes[a].length;
  NamedDerivation named{.name = name, .schedule = std::move(schedule)};
  find(named, derivation);
  if (named.found) add_problems(named, request);
  else named.feasible = false;
  return named;
}

Derivation derive(const DeriveRequest& request, const std::filesystem::path& models_directory) {
  Derivation out{.request = request, .primitives = expand(primitive_diagram(expand(request.diagram)))};
  std::vector<ArrayId> outputs;
  for (std::size_t a = 0; a < request.diagram.arrays.size(); ++a)
    if (request.diagram.arrays[a].role == ArrayRole::output)
      outputs.push_back(static_cast<ArrayId>(static_cast<int>(a)));
  out.whole = kernel_for(out.primitives, outputs, {});
  out.axes = KernelRules(out.primitives, out.whole).axes();
  check_witnesses(out);
  out.fusions = enumerate_fusions(out.primitives, {.most = request.most_fusions});
  Ranking(out).run();
  std::vector<std::pair<std::string, Schedule>> schedules;
  for (const std::string& name : shipped_names(models_directory / "schedules"))
    if (std::optional<Schedule> schedule = applied(name, request, models_directory))
      schedules.emplace_back(name, std::move(*schedule));
  std::vector<NamedDerivation> named(schedules.size());
  in_order(
      schedules.size(), request.threads,
      [&](std::size_t i, std::size_t) {
        named[i] = derive_named(out, schedules[i].first, std::move(schedules[i].second));
      },
      [&](std::size_t i, std::size_t) { out.named.push_back(std::move(named[i])); });
  add_names(out);
  return out;
}

}  // namespace tilescope
