// Without libFuzzer: gives files, or random changes of them, to targets.
// usage: tilescope_fuzz [--seconds N] CORPUS   a folder with a folder a target; with --seconds N s of changes a target
//        tilescope_fuzz TARGET FILE...
// TILESCOPE_SEED=random or a number draws other changes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "base/test_seed.h"
#include "base/units.h"
#include "fuzz/mutate.h"
#include "fuzz/target.h"

namespace {

using namespace tilescope::fuzz;
namespace fs = std::filesystem;
constexpr double longest = 10;  // seconds of an input

// Of processor time: other programs on the machine make no input slow.
double seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Prints why an input is a defect; empty: it is none. Signals and sanitizers end the program.
std::string defect_of(const Target& target, std::string bytes) {
  const double begin = seconds_now();
  try {
    run_target(target, std::move(bytes));
  } catch (const std::exception& error) {
    return std::string("ended with: ") + error.what();
  }
  return seconds_now() - begin < longest ? "" : "took more than 10 s";
}

bool replayed(const Target& target, const fs::path& file) {
  std::fprintf(stderr, "%s %s\n", std::string(target.name).c_str(), file.c_str());  // before: it may end the program
  const std::string defect = defect_of(target, tilescope::read_file(file));
  if (!defect.empty()) std::fprintf(stderr, "  %s\n", defect.c_str());
  return defect.empty();
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// The input that is being read, for a handler of signals: it keeps a copy beside the program.
std::string current, current_name;

void keep_current() {
  const int file = ::open(current_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (::write(file, current.data(), current.size()) < 0) ::unlink(current_name.c_str());
  ::close(file);
}

void keep_and_end(int signal) {
  keep_current();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Random changes of a target's corpus for some seconds; how many inputs are defects. The first one is kept.
std::size_t search(const Target& target, const fs::path& folder, double seconds, unsigned seed) {
  std::vector<std::string> corpus;
  for (const fs::path& file : files_below(folder)) corpus.push_back(tilescope::read_file(file));
  std::minstd_rand random(seed);
  current_name = "found_" + std::string(target.name);
  std::size_t count = 0, defects = 0;
  for (const double end = seconds_now() + seconds; seconds_now() < end && defects == 0; ++count) {
    const std::string& from = corpus[random() % corpus.size()];
    const unsigned change = static_cast<unsigned>(random());
    current = target.is_text && change % 4 != 0 ? mutated_text(from, change) : mutated_bytes(from, change);
    const std::string defect = defect_of(target, current);
    if (defect.empty()) continue;
    ++defects, keep_current();
    std::fprintf(stderr, "%s: %s; the input is in %s\n", std::string(target.name).c_str(), defect.c_str(),
                 current_name.c_str());
  }
  std::fprintf(stderr, "%-14s %8zu inputs, seed %u\n", std::string(target.name).c_str(), count, seed);
  return defects;
}

// By target; a folder that no target has is an error.
const Target& target_of(const fs::path& folder) {
  if (const Target* target = find_target(folder.filename().string())) return *target;
  std::fprintf(stderr, "%s: no target has this name\n", folder.c_str());
  std::exit(2);
}

// Each target has inputs; how many have none.
std::size_t without_corpus(const fs::path& corpus) {
  std::size_t count = 0;
  for (const Target* target : targets()) {
    if (fs::is_directory(corpus / target->name)) continue;
    std::fprintf(stderr, "%s: has no corpus\n", std::string(target->name).c_str());
    ++count;
  }
  return count;
}

int search_all(const fs::path& corpus, double seconds) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(signal, keep_and_end);
  std::size_t defects = without_corpus(corpus);
  for (const fs::path& folder : files_below(corpus))
    defects += search(target_of(folder), folder, seconds, tilescope::test_seed());
  return defects == 0 ? 0 : 1;
}

int replay_all(const fs::path& corpus) {
  std::size_t count = 0, failed = without_corpus(corpus);
  for (const fs::path& folder : files_below(corpus))
    for (const fs::path& file : files_below(folder)) ++count, failed += replayed(target_of(folder), file) ? 0 : 1;
  std::fprintf(stderr, "%zu inputs, %zu defects\n", count, failed);
  return failed == 0 && count > 0 ? 0 : 1;
}

int answer(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "--seconds")
    if (const auto seconds = tilescope::parse_decimal(words[1]); seconds && *seconds > 0)
      return search_all(words[2], *seconds);
  if (words.size() == 1) return replay_all(words[0]);
  const Target* target = words.empty() ? nullptr : find_target(words[0]);
  if (target == nullptr) {
    std::fprintf(stderr, "usage: tilescope_fuzz [--seconds N] CORPUS | TARGET FILE...\n");
    return 2;
  }
  std::size_t failed = 0;
  for (std::size_t i = 1; i < words.size(); ++i) failed += replayed(*target, words[i]) ? 0 : 1;
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  silence();
  return answer({words + 1, words + count});
}
