// Rates that nobody measured on a GPU, by rules: from what is published about the GPU, or from the nearest GPU that
// `hardware measure` has run on. The same rules serve every NVIDIA GPU, so that all are predicted by one model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"
#include "hardware/profile.h"

namespace tilescope {

// Where a rate comes from.
enum class Basis {
  measured,   // `hardware measure` on this GPU
  published,  // a datasheet or a publication about this GPU
  derived,    // a rule of derived.h
  mixed       // several of these
};
template <>
struct EnumTable<Basis> {
  static constexpr std::array rows{NamedKind{Basis::measured, "measured"}, NamedKind{Basis::published, "published"},
                                   NamedKind{Basis::derived, "derived"}, NamedKind{Basis::mixed, "mixed"}};
};

// Which rates of a profile a prediction takes (--basis).
enum class RatesFrom {
  stated,  // those of the profile, measured or published; rules give the others
  derived  // the datasheet and the rules: nothing that was measured on this GPU
};
template <>
struct EnumTable<RatesFrom> {
  static constexpr std::array rows{NamedKind{RatesFrom::stated, "stated"}, NamedKind{RatesFrom::derived, "derived"}};
};

inline constexpr const char* derived_source = "derived";  // of a value that a rule gave

// The profile with a value for every entry that has a rule. `others` are all profiles; this GPU's own measurements are
// no part of its rules. A GPU that is not NVIDIA's stays as it is: no rule knows its architecture.
HardwareProfile with_derived_rates(HardwareProfile profile, RatesFrom from, const std::vector<HardwareProfile>& others);

// Profiles of a directory, with derived rates; the directory is read when a profile first lacks a value.
class ProfileCatalogue {
 public:
  explicit ProfileCatalogue(std::filesystem::path hardware_directory) : directory_(std::move(hardware_directory)) {}
  HardwareProfile find(const std::string& id_or_file,
                       RatesFrom from = RatesFrom::stated);  // InputError as find_profile
  HardwareProfile complete(HardwareProfile profile, RatesFrom from = RatesFrom::stated);

 private:
  std::filesystem::path directory_;
  std::vector<HardwareProfile> all_;
};

// A rule as documents and `hardware check` show it.
struct DerivedRule {
  std::string entry;    // "measured.hbm.read", "levels.l2.ways"
  std::string formula;  // "DRAM bandwidth of the datasheet x measured / datasheet of the nearest measured GPU"
  std::string applies;  // compute capabilities, or empty: all
};
const std::vector<DerivedRule>& derived_rules();

// Entries that have a rule for this GPU and no value in the profile, in the order of the rules.
std::vector<DerivedRule> lacking_entries(const HardwareProfile& profile);

// The profile without the value of an entry that has a rule ("measured.hbm.read", "levels.l2.ways").
HardwareProfile without_entry(HardwareProfile profile, const std::string& entry);

Basis basis_of(const std::string& source);
// Basis of one kind of resource: of a group of `measured` ("hbm"), or of one key of it ("pipes", "ex2"); published
// where the profile has no value of it. Called for each row of a sweep: it takes no memory.
Basis basis_of_group(const HardwareProfile& profile, std::string_view group, std::string_view key = {});
Basis together(Basis a, Basis b);

}  // namespace tilescope
