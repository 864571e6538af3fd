#include "stream/check/stream_data.h"

#include <algorithm>
#include <cmath>

#include "stream/validate_cascade.h"

namespace tilescope {

StreamData random_stream_data(const Cascade& cascade, std::size_t positions, double least, double most,
                              std::mt19937_64& random) {
  std::uniform_real_distribution<double> value(least, most);
  StreamData data{.axis = cascade.axis, .positions = positions};
  for (const std::string& name : cascade.streamed)
    for (std::size_t i = 0; i < positions; ++i) data.streamed[name].push_back(value(random));
  for (const std::string& name : cascade.masked) {
    std::vector<bool>& mask = data.masked[name];
    while (mask.size() < positions) mask.insert(mask.end(), 1 + random() % 5, random() % 3 == 0);
    mask.resize(positions);
    if (positions > 0) mask.back() = false;
  }
  for (const std::string& name : names_of(cascade))
    if (!data.streamed.contains(name)) data.constants.emplace(name, value(random));
  const auto add_axes = [&](const Expression& e) {
    for (const std::string& axis : e.axes()) {
      const double size = static_cast<double>(1 + random() % 9);
      if (data.sizes.emplace(axis, size).second)
        data.indices.emplace(axis, std::floor(size * static_cast<double>(random() % 1000) / 1000));
    }
  };
  for (const Fold& fold : cascade.folds) add_axes(fold.body);
  for (const Output& output : cascade.outputs) add_axes(output.value);
  return data;
}

bool skipped(const StreamData& data, const std::vector<std::string>& names_read, std::size_t position) {
  return std::any_of(names_read.begin(), names_read.end(), [&](const std::string& name) {
    const auto mask = data.masked.find(name);
    return mask != data.masked.end() && mask->second[position];
  });
}

}  // namespace tilescope
