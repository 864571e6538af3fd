// Names of metrics that are known, and what the importer does with each.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hardware/profile.h"

namespace tilescope::imported {

// Facts that a metric may state; the names are the keys of `facts` in the file.
enum class MetricFact {
  seconds,
  sm_hz,
  registers,
  static_smem,
  dynamic_smem,
  passes,
  gpu,
  units,
  memory_bytes,
  l2_bytes,
  sm_clock_max_khz,
  ecc
};

enum class MetricUse { fact, counter, not_kept, unknown };

struct MetricNames {
  std::map<std::string, std::string> titles;           // of sections -> metric
  std::map<std::string, MetricFact> facts;             // by metric
  std::set<std::string> counters;                      // that are kept; without what follows the first '.'
  std::map<std::string, std::set<std::string>> words;  // by unit, what stands before the two underscores
  std::vector<std::string> others;                     // names with * for any text
  std::set<std::string> other_titles;

  // `name` is a metric or a title. A counter is kept where it is a sum, or one of `wanted`.
  MetricUse use_of(const std::string& name) const;
  std::string metric_of(const std::string& name) const;  // of a title, or the name itself
  std::string hint(const std::string& name) const;       // "; did you mean 'x'?"
};

// The names of the file, with every counter that the profiles name. `ignored`: names, with * for any text, that are
// left out without an error. Throws InputError.
MetricNames load_metric_names(const std::filesystem::path& file, const std::vector<HardwareProfile>& profiles,
                              const std::vector<std::string>& ignored);

}  // namespace tilescope::imported

namespace tilescope {
template <>
struct EnumTable<imported::MetricFact> {
  using Fact = imported::MetricFact;
  static constexpr std::array rows{NamedKind{Fact::seconds, "seconds"},
                                   NamedKind{Fact::sm_hz, "sm_hz"},
                                   NamedKind{Fact::registers, "registers"},
                                   NamedKind{Fact::static_smem, "static_smem"},
                                   NamedKind{Fact::dynamic_smem, "dynamic_smem"},
                                   NamedKind{Fact::passes, "passes"},
                                   NamedKind{Fact::gpu, "gpu"},
                                   NamedKind{Fact::units, "units"},
                                   NamedKind{Fact::memory_bytes, "memory_bytes"},
                                   NamedKind{Fact::l2_bytes, "l2_bytes"},
                                   NamedKind{Fact::sm_clock_max_khz, "sm_clock_max_khz"},
                                   NamedKind{Fact::ecc, "ecc"}};
};
}  // namespace tilescope
