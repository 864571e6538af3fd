#include "records/capture/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace tilescope::capture {
namespace {

bool like_attention(std::string symbol) {
  for (char& c : symbol)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string_view part : {"attention", "attn", "fmha", "flash", "sdpa", "mha_"})
    if (symbol.find(part) != std::string::npos) return true;
  return false;
}

KernelShare share_of(const CapturedKernel& kernel, const CapturedLaunch& launch) {
  KernelShare share;
  share.name = short_kernel_name(kernel.symbol);
  share.symbol = kernel.symbol;
  share.module = kernel.module;
  share.grid = launch.grid;
  share.block = launch.block;
  share.cluster = launch.cluster;
  share.registers = kernel.registers;
  share.shared_bytes = kernel.static_shared_bytes + launch.dynamic_shared_bytes;
  share.local_bytes = kernel.local_bytes;
  share.ranges = launch.ranges;
  share.tensor_maps = static_cast<std::int64_t>(launch.tensor_maps.size());
  share.named_like_attention = like_attention(kernel.symbol);
  return share;
}

}  // namespace

std::vector<KernelShare> kernel_shares(const Capture& capture) {
  std::map<std::string, std::size_t> places;
  std::vector<KernelShare> shares;
  std::vector<std::vector<std::int64_t>> times;
  for (const CapturedLaunch& launch : capture.launches) {
    const CapturedKernel& kernel = capture.kernels[static_cast<std::size_t>(launch.kernel)];
    const std::string key =
        fmt::format("{} {} {} {} {} {}", kernel.symbol, kernel.module, fmt::join(launch.grid, ","),
                    fmt::join(launch.block, ","), fmt::join(launch.cluster, ","), launch.dynamic_shared_bytes);
    const auto [place, added] = places.emplace(key, shares.size());
    if (added) {
      shares.push_back(share_of(kernel, launch));
      times.emplace_back();
    }
    KernelShare& share = shares[place->second];
    share.launches += launch.count;
    share.counted += static_cast<std::int64_t>(launch.counted.size());
    share.in_graph = share.in_graph || launch.graph_node != 0;
    auto& all = times[place->second];
    all.insert(all.end(), launch.durations_ns.begin(), launch.durations_ns.end());
  }
  double whole = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    shares[i].timed = static_cast<std::int64_t>(times[i].size());
    if (!times[i].empty()) shares[i].median_seconds = 1e-9 * static_cast<double>(times[i][times[i].size() / 2]);
    for (const std::int64_t time : times[i]) shares[i].seconds += 1e-9 * static_cast<double>(time);
    shares[i].seconds += static_cast<double>(shares[i].launches - shares[i].timed) * shares[i].median_seconds;
    whole += shares[i].seconds;
  }
  for (KernelShare& share : shares) share.share = whole > 0 ? share.seconds / whole : 0;
  std::stable_sort(shares.begin(), shares.end(),
                   [](const KernelShare& a, const KernelShare& b) { return a.seconds > b.seconds; });
  return shares;
}

}  // namespace tilescope::capture
