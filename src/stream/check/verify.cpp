#include "stream/check/verify.h"

#include <cmath>
#include <limits>

#include "stream/check/direct.h"
#include "stream/check/run.h"

namespace tilescope {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_scale = 1e-3;

class Verifier {
 public:
  Verifier(const Cascade& cascade, const Witness& witness, const StreamData& data, std::mt19937_64& random)
      : data_(data), witness_(witness), run_(witness, data), random_(random) {
    direct_ = evaluate_directly(cascade, data);
    for (const Fold& fold : cascade.folds) product_.emplace(fold.name, fold.kind == FoldKind::product);
  }

  bool defined() const {
    const auto finite = [](const auto& each) { return std::isfinite(each.second); };
    return std::all_of(direct_.folds.begin(), direct_.folds.end(), finite) &&
           std::all_of(direct_.outputs.begin(), direct_.outputs.end(), finite);
  }

  double streaming() {
    double worst = 0;
    for (int split = 0; split < 4; ++split) {
      StreamState state = run_.initial();
      for (const auto& [begin, end] : parts(split == 0 ? 1 : split == 1 ? data_.positions : 4))
        state = run_.advanced(state, begin, end);
      worst = std::max(worst, error(state));
    }
    for (const Output& map : witness_.maps) worst = std::max(worst, map_error(map));
    return worst;
  }

  double merging() {
    double worst = 0;
    for (int split = 0; split < 4; ++split) {
      std::vector<StreamState> states;
      for (const auto& [begin, end] : parts(3)) states.push_back(run_.advanced(run_.initial(), begin, end));
      const StreamState &a = states[0], &b = states[1], &c = states[2], none = run_.initial();
      const auto join = [&](const StreamState& x, const StreamState& y) { return run_.merged(x, y); };
      for (const StreamState& whole :
           {join(join(a, b), c), join(a, join(b, c)), join(join(b, a), c), join(c, join(b, a)), join(join(c, a), b),
            join(join(none, a), join(join(b, none), c))})
        worst = std::max(worst, error(whole));
    }
    return worst;
  }

  double compact() {
    double worst = 0;
    for (int split = 0; split < 4 && witness_.compact; ++split) {
      std::optional<std::map<std::string, double>> whole;
      std::size_t seen = 0;
      for (const auto& [begin, end] : parts(3)) {
        const auto partial = run_.outputs(run_.advanced(run_.initial(), begin, end));
        // A part without a live position has no outputs and is not merged.
        if (std::any_of(partial.begin(), partial.end(), [](const auto& each) { return !std::isfinite(each.second); }))
          continue;
        if (whole) whole = run_.outputs(run_.merged(run_.section(*whole, seen), run_.section(partial, end - begin)));
        else whole = partial;
        seen += end - begin;
      }
      worst = std::max(worst, whole ? outputs_error(*whole) : infinity);
    }
    return worst;
  }

 private:
  // [0, positions) cut into up to `count` chunks at random places.
  std::vector<std::pair<std::size_t, std::size_t>> parts(std::size_t count) {
    std::vector<std::size_t> cuts{0, data_.positions};
    if (count == data_.positions) {
      for (std::size_t i = 1; i < count; ++i) cuts.push_back(i);
    } else {
      for (std::size_t i = 1; i < count; ++i) cuts.push_back(random_() % (data_.positions + 1));
    }
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::pair<std::size_t, std::size_t>> result;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) result.emplace_back(cuts[i], cuts[i + 1]);
    return result;
  }

  static double relative(double found, double wanted, double scale) {
    const double error = std::abs(found - wanted) / scale;
    return std::isnan(error) ? infinity : error;
  }

  double outputs_error(const std::map<std::string, double>& found) const {
    double worst = 0;
    for (const auto& [name, value] : found)
      worst = std::max(worst, relative(value, direct_.outputs.at(name),
                                       std::max(smallest_scale, std::abs(direct_.outputs.at(name)))));
    return worst;
  }

  double error(const StreamState& state) const {
    double worst = outputs_error(run_.outputs(state));
    for (const auto& [name, value] : run_.folds(state)) {
      const double least = product_.at(name) ? std::numeric_limits<double>::min() : smallest_scale;
      worst = std::max(worst, relative(value, direct_.folds.at(name), std::max(least, direct_.magnitudes.at(name))));
    }
    return worst;
  }

  double map_error(const Output& map) const {
    const std::vector<double> found = run_.map(map, 0, data_.positions), &wanted = direct_.maps.at(map.name);
    double worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (std::isfinite(wanted[i]))
        worst = std::max(worst, relative(found[i], wanted[i], std::max(smallest_scale, std::abs(wanted[i]))));
    return worst;
  }

  const StreamData& data_;
  const Witness& witness_;
  StreamRun run_;
  std::mt19937_64& random_;
  DirectValues direct_{};
  std::map<std::string, bool> product_{};
};

}  // namespace

double Verification::worst() const {
  if (runs == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::max({streaming, merging, compact});
}

Verification verify(const Cascade& cascade, const Witness& witness, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Verification result;
  for (int attempt = 0; attempt < 24; ++attempt) {
    const bool positive = attempt % 2 == 1 || !witness.assumptions.empty();  // assumptions are all of the form x >= 0
    const StreamData data =
        random_stream_data(cascade, 3 + random() % 30, positive ? 0.25 : -1.5, positive ? 1.75 : 1.5, random);
    Verifier verifier(cascade, witness, data, random);
    if (!verifier.defined()) continue;
    ++result.runs;
    result.streaming = std::max(result.streaming, verifier.streaming());
    result.merging = std::max(result.merging, verifier.merging());
    result.compact = std::max(result.compact, verifier.compact());
  }
  return result;
}

}  // namespace tilescope
