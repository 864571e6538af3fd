#include "validate/microbench/bench.h"

#include <algorithm>
#include <cmath>

namespace tilescope::validate {

double median_of(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

std::string whole(double value) { return std::to_string(std::llround(value)); }

void Microbench::add(const std::string& path, std::vector<double> samples, const std::string& note) {
  const double value = median_of(samples);
  values_.push_back({path, value, std::move(samples), note});
}

const MicrobenchValue* Microbench::find(const std::string& path) const {
  for (const MicrobenchValue& value : values_)
    if (value.path == path) return &value;
  return nullptr;
}

}  // namespace tilescope::validate
