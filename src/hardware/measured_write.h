// Profiles with a block of measured values, written as text: what a person wrote in the base profile stays as it is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope {

// What the new values are said to come from: "  MB: tilescope hardware measure on ...".
inline constexpr const char* measured_source = "MB";

// One value of the block: its path below `measured` ("tensor.mma.fp16", see measured.h), in base units.
struct MeasuredEntry {
  std::string path;
  double value = 0;
  std::string note = {};  // how it was measured; may be empty
  std::string source = measured_source;
};

// The block of a profile with its notes, as far as it was measured in another way and `fresh` has no value in its
// place.
std::vector<MeasuredEntry> kept_entries(const std::filesystem::path& profile, const std::vector<MeasuredEntry>& fresh);

// The block as YAML, with four significant digits in the units that a person would choose. Entries stand in the order
// of the fields in measured.h; one whose path is no field is refused with InputError.
std::string measured_yaml(const std::vector<MeasuredEntry>& entries);

// `base`, the text of a profile, with another id, the source `measured_source` saying `origin`, and `block` in place of
// the block it had. InputError when `base` is not laid out in lines, a top-level key at the start of each section.
std::string with_measured(const std::string& base, const std::string& id, const std::string& origin,
                          const std::string& block);

// A property of a memory level that was measured: "ways" with "16", as it stands in the profile.
struct LevelEntry {
  std::string key, value, note;
};

// `profile`, the text of a profile, with these values, of source `measured_source`, in `levels: level:`, each in place
// of the line of its key or, where it had none, before the level's counters. InputError when the level has no lines of
// its own.
std::string with_level_values(const std::string& profile, const std::string& level,
                              const std::vector<LevelEntry>& entries);

}  // namespace tilescope
