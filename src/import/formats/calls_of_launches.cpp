#include "import/formats/calls_of_launches.h"

#include <algorithm>

namespace tilescope::imported {
namespace {

constexpr std::size_t most_open = 64;  // spans around one moment; more than a framework nests

// The calls of one thread's launches, given as times in order.
void link_thread(std::vector<OperatorSpan>& spans, const std::vector<std::pair<double, ToolLaunch*>>& launches) {
  std::sort(spans.begin(), spans.end(), [](const OperatorSpan& a, const OperatorSpan& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<OperatorSpan> open;
  std::size_t next = 0;
  for (const auto& [time, launch] : launches) {
    for (; next < spans.size() && spans[next].start <= time; ++next) {
      if (spans[next].end < time) continue;
      if (open.size() == most_open) open.erase(open.begin());
      open.push_back(spans[next]);
    }
    std::erase_if(open, [time = time](const OperatorSpan& span) { return span.end < time; });
    const auto first = std::min_element(open.rbegin(), open.rend(),
                                        [](const OperatorSpan& a, const OperatorSpan& b) { return a.rank < b.rank; });
    if (first != open.rend()) launch->call = first->call;
  }
}

}  // namespace

void link_calls(Spans& spans, const LaunchCalls& starts, std::vector<TimedLaunch>& launches, ToolFile& file) {
  file.launches.reserve(launches.size());
  std::map<std::string, std::vector<std::pair<double, ToolLaunch*>>> by_thread;
  for (TimedLaunch& each : launches) {
    file.launches.push_back(std::move(each.launch));
    if (!each.correlation) continue;
    const auto start = starts.find(*each.correlation);
    if (start != starts.end()) by_thread[start->second.thread].emplace_back(start->second.start, &file.launches.back());
  }
  for (auto& [thread, own] : by_thread) {
    const auto found = spans.find(thread);
    if (found == spans.end()) continue;
    std::stable_sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    link_thread(found->second, own);
  }
}

}  // namespace tilescope::imported
