#include "validate/measure/counters/counting.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::validate {
namespace {

constexpr int traffic_samples = 3;

std::string sample_prefix(int sample, bool flush_inside) {
  return fmt::format("{}{}:", flush_inside ? "flushed" : "alone", sample);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void sum_into(std::map<std::string, double>& sum, const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) sum[name] += value;
}

void add_ranges(const std::string& prefix, std::size_t islands, std::vector<std::string>& ranges) {
  for (std::size_t i = 0; i < islands; ++i) ranges.push_back(range_name(prefix, i));
}

void note_session(const CounterResult& counted, Record& record) {
  record.passes += counted.passes;
  record.unavailable.insert(record.unavailable.end(), counted.unavailable.begin(), counted.unavailable.end());
}

// Samples of each launch, once without and once with a flush after it.
void count_traffic(Bench& bench, const CountedRun& run, Record& record) {
  std::vector<std::string> ranges;
  for (int sample = 0; sample < traffic_samples; ++sample)
    for (const bool flush_inside : {false, true})
      add_ranges(sample_prefix(sample, flush_inside), record.islands.size(), ranges);
  const CounterResult counted = bench.traffic.collect(ranges, [&run](RangeMarker& marker) {
    for (int sample = 0; sample < traffic_samples; ++sample)
      for (const bool flush_inside : {false, true}) run(marker, sample_prefix(sample, flush_inside), flush_inside);
  });
  for (std::size_t i = 0; i < record.islands.size(); ++i) {
    MeasuredLaunch& island = record.islands[i];
    for (int sample = 0; sample < traffic_samples; ++sample) {
      for (const auto& [metric, value] : counted.values.at(range_name(sample_prefix(sample, false), i)))
        island.samples[metric].push_back(value);
      for (const auto& [metric, value] : counted.values.at(range_name(sample_prefix(sample, true), i)))
        if (metric.starts_with("dram__")) island.samples_with_flush[metric].push_back(value);
    }
    for (const auto& [metric, values] : island.samples) island.counters[metric] = median(values);
    for (const auto& [metric, values] : island.samples_with_flush) island.counters_with_flush[metric] = median(values);
  }
  note_session(counted, record);
}

void count_work(Bench& bench, const CountedRun& run, Record& record) {
  std::vector<std::string> ranges;
  add_ranges("", record.islands.size(), ranges);
  const CounterResult counted = bench.work.collect(ranges, [&run](RangeMarker& marker) { run(marker, "", false); });
  for (std::size_t i = 0; i < record.islands.size(); ++i)
    record.islands[i].counters.merge(std::map(counted.values.at(range_name("", i))));
  note_session(counted, record);
}

}  // namespace

std::string range_name(const std::string& prefix, std::size_t island) { return fmt::format("{}{}", prefix, island); }

void count_islands(Bench& bench, const CountedRun& run, Record& record) {
  record.flush_bytes = static_cast<double>(bench.flush.bytes());
  count_traffic(bench, run, record);
  count_work(bench, run, record);
  for (const MeasuredLaunch& island : record.islands) {
    sum_into(record.counters, island.counters);
    sum_into(record.counters_with_flush, island.counters_with_flush);
  }
}

}  // namespace tilescope::validate
