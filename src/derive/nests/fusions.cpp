#include "derive/nests/fusions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/contains.h"

namespace tilescope {
namespace {

std::vector<ArrayId> arrays_with_role(const Primitives& primitives, ArrayRole role) {
  std::vector<ArrayId> found;
  for (std::size_t i = 0; i < primitives.diagram.arrays.size(); ++i)
    if (primitives.diagram.arrays[i].role == role) found.push_back(static_cast<ArrayId>(static_cast<int>(i)));
  return found;
}

// Whether a kernel is connected: all results are reachable from one result through arrays that its primitives use.
bool connected(const Primitives& primitives, const FusedKernel& kernel) {
  if (kernel.region.results.size() < 2) return true;
  std::set<ArrayId> reached{kernel.region.results.front()};
  for (bool grew = true; grew;) {
    grew = false;
    for (const int number : kernel.region.primitives) {
      const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
      std::vector<ArrayId> touched = primitive.inputs;
      touched.push_back(primitive.output);
      if (std::none_of(touched.begin(), touched.end(), [&](ArrayId id) { return reached.contains(id); })) continue;
      for (const ArrayId id : touched) grew = reached.insert(id).second || grew;
    }
  }
  return std::all_of(kernel.region.results.begin(), kernel.region.results.end(),
                     [&](ArrayId id) { return reached.contains(id); });
}

class Enumerator {
 public:
  Enumerator(const Primitives& primitives, const FusionOptions& options) : primitives_(primitives), options_(options) {}

  Fusions run() {
    const std::vector<ArrayId> interior = arrays_with_role(primitives_, ArrayRole::interior);
    const std::size_t subsets = interior.size() < 20 ? std::size_t{1} << interior.size() : options_.most;
    for (std::size_t subset = 0; subset < subsets && out_.complete; ++subset) {
      stored_.clear();
      for (std::size_t i = 0; i < interior.size() && i < 64; ++i)
        if (subset >> i & 1U) stored_.push_back(interior[i]);
      results_ = arrays_with_role(primitives_, ArrayRole::output);
      std::erase_if(results_, [&](ArrayId id) { return contains(options_.omitted, id); });
      results_.insert(results_.end(), stored_.begin(), stored_.end());
      part_.assign(results_.size(), 0);
      partition(0, 0);
    }
    if (interior.size() >= 20) out_.complete = false;
    return std::move(out_);
  }

 private:
  // Restricted growth strings: every way to divide the results among kernels, each once.
  void partition(std::size_t position, int parts) {
    if (position == results_.size()) return consider(parts);
    for (int part = 0; part <= parts && out_.complete; ++part) {
      part_[position] = part;
      partition(position + 1, std::max(parts, part + 1));
    }
  }

  void consider(int parts) {
    if (++out_.considered >= options_.most) out_.complete = false;
    std::vector<int> kernels;
    for (int part = 0; part < parts; ++part) {
      std::vector<ArrayId> results;
      for (std::size_t i = 0; i < results_.size(); ++i)
        if (part_[i] == part) results.push_back(results_[i]);
      const int kernel = kernel_number(results);
      if (kernel < 0) return;
      kernels.push_back(kernel);
    }
    const auto loaded = [&](ArrayId id) {
      return std::any_of(kernels.begin(), kernels.end(),
                         [&](int k) { return contains(out_.kernels[static_cast<std::size_t>(k)].loads, id); });
    };
    if (!std::all_of(stored_.begin(), stored_.end(), loaded) || !order(kernels)) return;
    out_.fusions.push_back({kernels, stored_});
  }

  // -1: the kernel would not be connected.
  int kernel_number(const std::vector<ArrayId>& results) {
    const auto [found, fresh] = numbers_.try_emplace({results, stored_}, -1);
    if (!fresh) return found->second;
    FusedKernel kernel = kernel_for(primitives_, results, stored_);
    if (!connected(primitives_, kernel)) return -1;
    const auto same = std::find(out_.kernels.begin(), out_.kernels.end(), kernel);
    if (same == out_.kernels.end()) {
      out_.kernels.push_back(std::move(kernel));
      return found->second = static_cast<int>(out_.kernels.size()) - 1;
    }
    return found->second = static_cast<int>(same - out_.kernels.begin());
  }

  // Sorts kernels so that every loaded array is stored by an earlier kernel; false: their dependencies are cyclic.
  bool order(std::vector<int>& kernels) const {
    std::vector<int> sorted;
    std::set<ArrayId> stored;
    const auto ready = [&](int k) {
      const FusedKernel& kernel = out_.kernels[static_cast<std::size_t>(k)];
      return std::all_of(kernel.loads.begin(), kernel.loads.end(),
                         [&](ArrayId id) { return primitives_.producer(id) < 0 || stored.contains(id); });
    };
    while (!kernels.empty()) {
      const auto next = std::find_if(kernels.begin(), kernels.end(), ready);
      if (next == kernels.end()) return false;
      const auto& results = out_.kernels[static_cast<std::size_t>(*next)].region.results;
      stored.insert(results.begin(), results.end());
      sorted.push_back(*next);
      kernels.erase(next);
    }
    kernels = sorted;
    return true;
  }

  const Primitives& primitives_;
  const FusionOptions& options_;
  Fusions out_;
  std::vector<ArrayId> stored_, results_;
  std::vector<int> part_;
  std::map<std::pair<std::vector<ArrayId>, std::vector<ArrayId>>, int> numbers_;
};

}  // namespace

FusedKernel kernel_for(const Primitives& primitives, const std::vector<ArrayId>& results,
                       const std::vector<ArrayId>& available) {
  std::set<int> needed;
  std::set<ArrayId> loads;
  const std::function<void(ArrayId)> need = [&](ArrayId id) {
    const int producer = primitives.producer(id);
    const bool own = contains(results, id);
    if (producer < 0 || (!own && contains(available, id))) {
      loads.insert(id);
      return;
    }
    if (!needed.insert(producer).second) return;
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(producer)];
    for (const ArrayId input : primitive.inputs) need(input);
    for (const ArrayId input : primitive.reads) need(input);
  };
  for (const ArrayId result : results) need(result);
  std::vector<ArrayId> sorted = results;
  std::sort(sorted.begin(), sorted.end());
  return {.region = {.primitives = {needed.begin(), needed.end()}, .results = sorted},
          .loads = {loads.begin(), loads.end()}};
}

Fusions enumerate_fusions(const Primitives& primitives, const FusionOptions& options) {
  return Enumerator(primitives, options).run();
}

}  // namespace tilescope
