// Finding profiles by id, prefix or path.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "hardware/changes.h"
#include "hardware/profile.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& message) {
  throw InputError(Diagnostic{.path = "hardware", .message = message});
}

// Ids of the shipped profiles, which are their file names without ".yaml", sorted.
std::vector<std::string> ids_in(const fs::path& directory) {
  std::vector<std::string> ids;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".yaml") ids.push_back(entry->path().stem().string());
  }
  if (error) fail(fmt::format("the profile folder {} cannot be read: {}", directory.string(), error.message()));
  if (ids.empty()) fail(fmt::format("the profile folder {} holds no .yaml file", directory.string()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

HardwareProfile shipped_profile(const fs::path& directory, const std::string& id) {
  return load_profile(directory / (id + ".yaml"));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : lower(name) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) word += c;
    else if (!word.empty()) words.insert(std::exchange(word, {}));
  }
  return words;
}

}  // namespace

void keep_best_named(std::vector<HardwareProfile>& profiles, const std::string& device) {
  const std::set<std::string> theirs = words_of(device);
  const auto shared = [&](const HardwareProfile& profile) {
    const std::set<std::string> ours = words_of(profile.name);
    return std::count_if(ours.begin(), ours.end(), [&](const std::string& word) { return theirs.contains(word); });
  };
  std::ptrdiff_t most = 0;
  for (const HardwareProfile& profile : profiles) most = std::max(most, shared(profile));
  std::erase_if(profiles, [&](const HardwareProfile& profile) { return shared(profile) < most; });
}

HardwareProfile find_profile(const std::string& id_or_file, const fs::path& hardware_directory) {
  if (const auto [name, changes] = name_and_changes(id_or_file); name != id_or_file)
    return with_changes(find_profile(name, hardware_directory), changes);
  if (id_or_file.find('/') != std::string::npos || id_or_file.ends_with(".yaml")) return load_profile(id_or_file);
  const std::vector<std::string> ids = ids_in(hardware_directory);
  const std::string wanted = lower(id_or_file);
  std::vector<std::string> matches;
  for (const std::string& id : ids) {
    if (id == wanted) return shipped_profile(hardware_directory, id);
    // "h200" means h200_sxm, but "h20", another GPU, must not.
    if (!wanted.empty() && id.starts_with(wanted + "_")) matches.push_back(id);
  }
  if (matches.size() == 1) return shipped_profile(hardware_directory, matches.front());
  if (!matches.empty()) {
    fail(fmt::format("{} names several GPUs: {}; give one of them", shown_text(id_or_file), join(matches, ", ")));
  }
  fail(fmt::format("unknown GPU {}{}", shown_text(id_or_file), did_you_mean(id_or_file, ids)));
}

std::vector<HardwareProfile> list_profiles(const fs::path& hardware_directory) {
  const std::vector<std::string> ids = ids_in(hardware_directory);
  std::vector<std::optional<HardwareProfile>> read(ids.size());
  std::vector<std::vector<Diagnostic>> findings_in(ids.size());
  std::vector<HardwareProfile> profiles;
  std::vector<Diagnostic> findings;
  const auto read_one = [&](std::size_t i, std::size_t) {
    try {
      read[i] = shipped_profile(hardware_directory, ids[i]);
    } catch (const InputError& error) {
      findings_in[i] = error.diagnostics();
    }
  };
  in_order(ids.size(), all_cores(), read_one, [&](std::size_t i, std::size_t) {
    if (read[i]) profiles.push_back(std::move(*read[i]));
    findings.insert(findings.end(), findings_in[i].begin(), findings_in[i].end());
  });
  if (!findings.empty()) throw InputError(std::move(findings));
  return profiles;
}

}  // namespace tilescope
