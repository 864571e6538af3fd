// The list of built combinations of a kernel folder: concatenated from its parts, searched by variant.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "kernel_api.h"

namespace tilescope::kernels {

// All combinations of the parts (one part per file of instances/), in order.
template <class Instance>
std::vector<Instance> joined(std::initializer_list<std::vector<Instance> (*)()> parts) {
  std::vector<Instance> all;
  for (const auto part : parts) {
    const std::vector<Instance> some = part();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// The combination of the variant, which must exist.
template <class Instance>
const Instance& instance_of(const std::vector<Instance>& all, const Variant& variant) {
  return *std::find_if(all.begin(), all.end(), [&](const Instance& i) { return i.variant == variant; });
}

template <class Instance>
std::vector<Variant> variants_of(const std::vector<Instance>& all) {
  std::vector<Variant> list;
  for (const Instance& instance : all) list.push_back(instance.variant);
  return list;
}

}  // namespace tilescope::kernels
