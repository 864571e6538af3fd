#include "stream/check/direct.h"

#include <algorithm>
#include <cmath>

#include "base/contains.h"

namespace tilescope {
namespace {

struct Everything : Lookup {
  Everything(const StreamData& all, const DirectValues& done) : data(all), values(done) {}
  double array(const std::string& name) const override {
    if (const auto fold = values.folds.find(name); fold != values.folds.end()) return fold->second;
    if (const auto column = data.streamed.find(name); column != data.streamed.end()) return column->second.at(position);
    return data.constants.at(name);
  }
  double index(const std::string& axis) const override {
    return axis == data.axis ? static_cast<double>(position) : data.indices.at(axis);
  }
  double size(const std::string& axis) const override {
    return axis == data.axis ? static_cast<double>(data.positions) : data.sizes.at(axis);
  }
  const StreamData& data;
  const DirectValues& values;
  std::size_t position = 0;
};

}  // namespace

DirectValues evaluate_directly(const Cascade& cascade, const StreamData& data) {
  DirectValues values;
  Everything names(data, values);
  for (const Fold& fold : cascade.folds) {
    double total = fold_unit(fold.kind), magnitude = 0;
    const std::vector<std::string> read = fold.body.arrays();
    for (names.position = 0; names.position < data.positions; ++names.position) {
      if (skipped(data, read, names.position)) continue;
      const double value = evaluate(fold.body, names);
      total = fold_values(fold.kind, total, value);
      magnitude += std::abs(value);
    }
    values.folds[fold.name] = total;
    values.magnitudes[fold.name] = fold.kind == FoldKind::sum ? magnitude : std::abs(total);
  }
  for (const Output& output : cascade.outputs) {
    const std::vector<std::string> read = output.value.arrays(), axes = output.value.index_axes();
    const bool varies =
        std::any_of(read.begin(), read.end(), [&](const auto& name) { return data.streamed.contains(name); }) ||
        contains(axes, cascade.axis);
    names.position = 0;
    if (!varies) {
      values.outputs[output.name] = evaluate(output.value, names);
      continue;
    }
    for (; names.position < data.positions; ++names.position)
      values.maps[output.name].push_back(evaluate(output.value, names));
  }
  return values;
}

}  // namespace tilescope
