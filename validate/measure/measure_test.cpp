#include "validate/measure/measure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"

using namespace tilescope;
using namespace tilescope::validate;

namespace {

const std::filesystem::path source = TILESCOPE_SOURCE_DIR;

bool lists(const std::vector<std::string>& all, const std::string& one) {
  return std::count(all.begin(), all.end(), one) == 1;
}

std::vector<std::string> all_of(const MetricSets& sets) {
  std::vector<std::string> all = sets.traffic;
  all.insert(all.end(), sets.work.begin(), sets.work.end());
  return all;
}

}  // namespace

TEST_CASE("a record collects every counter of the profile's levels and of its work, once") {
  const HardwareProfile profile = load_profile(source / "hardware" / "h200_sxm.yaml");
  const std::vector<std::string> metrics = all_of(metrics_to_collect(profile));
  for (const MemoryLevel& level : profile.levels) {
    if (level.counters.read) CHECK(lists(metrics, level.counters.read->metric));
    if (level.counters.write) CHECK(lists(metrics, level.counters.write->metric));
  }
  CHECK(lists(metrics_to_collect(profile).traffic, "dram__bytes_write.sum"));
  CHECK(lists(metrics, profile.work_counters.at("tensor_flop.fp16").metric));
  CHECK(lists(metrics, profile.work_counters.at("xu").metric));
  CHECK(lists(metrics, profile.work_counters.at("tensor_flop.fp8_e4m3").metric));
  CHECK(!lists(metrics, profile.work_counters.at("tensor_flop.tf32").metric));
}

TEST_CASE("all collected counters exist on the H200's chip, and traffic takes few passes" *
          doctest::skip(!cupti_version().has_value())) {
  const HardwareProfile profile = load_profile(source / "hardware" / "h200_sxm.yaml");
  const MetricSets sets = metrics_to_collect(profile);
  for (const auto& set : {sets.traffic, sets.work}) {
    const auto plan = plan_counters(profile.chip, set);
    REQUIRE(plan.has_value());
    CHECK(plan->unknown.empty());
    CHECK(plan->passes <= 8);
  }
  CHECK(plan_counters(profile.chip, sets.traffic)->passes <= 2);
}

TEST_CASE("every shipped experiment reads, and names a shipped profile") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source / "validate" / "experiments")) {
    CAPTURE(entry.path());
    const Experiment experiment = load_experiment(entry.path());
    CHECK(!experiment.points.empty());
    CHECK(!experiment.tolerances.empty());
    CHECK(find_profile(experiment.hardware, source / "hardware").id == experiment.hardware);
    ++files;
  }
  CHECK(files >= 2);
}

TEST_CASE("an experiment for another profile is refused before any device work") {
  const HardwareProfile profile = load_profile(source / "hardware" / "h200_sxm.yaml");
  Experiment experiment = load_experiment(source / "validate" / "experiments" / "quick.yaml");
  experiment.hardware = "a100_sxm_80";
  const Preflight state = preflight();
  if (state.readiness == Readiness::not_built) CHECK_THROWS_AS(measure(experiment, profile, {}), DeviceError);
  else CHECK_THROWS_WITH_AS(measure(experiment, profile, {}), doctest::Contains("a100_sxm_80"), InputError);
}

TEST_CASE("without counters measuring fails with the one line that says why") {
  const Preflight state = preflight();
  if (state.readiness == Readiness::ready) return;
  const HardwareProfile profile = load_profile(source / "hardware" / "h200_sxm.yaml");
  const Experiment experiment = load_experiment(source / "validate" / "experiments" / "quick.yaml");
  MeasureOptions options;
  options.output = std::filesystem::temp_directory_path() / "tilescope-measure-test";
  CHECK_THROWS_WITH_AS(measure(experiment, profile, options), state.message.c_str(), DeviceError);
  std::filesystem::remove_all(options.output);
}

TEST_CASE("an output directory that cannot be written is found out first" *
          doctest::skip(!cupti_version().has_value())) {
  const HardwareProfile profile = load_profile(source / "hardware" / "h200_sxm.yaml");
  const Experiment experiment = load_experiment(source / "validate" / "experiments" / "quick.yaml");
  MeasureOptions options;
  options.output = "/proc/nowhere";
  CHECK_THROWS_WITH_AS(measure(experiment, profile, options), doctest::Contains("records cannot be written here"),
                       InputError);
}

TEST_CASE("the revision is read from a repository's branch, packed branch, detached head or worktree") {
  std::string name = (std::filesystem::temp_directory_path() / "tilescope-git-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  const std::filesystem::path folder = name;
  CHECK(source_revision(folder) == "unknown");
  const std::string a(40, 'a'), b(40, 'b');
  std::filesystem::create_directories(folder / ".git" / "refs" / "heads");
  write_file(folder / ".git" / "HEAD", a + "\n");
  CHECK(source_revision(folder) == a);
  write_file(folder / ".git" / "HEAD", "ref: refs/heads/main\n");
  CHECK(source_revision(folder) == "unknown");
  write_file(folder / ".git" / "packed-refs", "# pack-refs\n" + b + " refs/heads/main\n");
  CHECK(source_revision(folder) == b);
  write_file(folder / ".git" / "refs" / "heads" / "main", a + "\n");
  CHECK(source_revision(folder) == a);
  std::filesystem::create_directories(folder / "tree");
  std::filesystem::create_directories(folder / ".git" / "worktrees" / "tree");
  write_file(folder / ".git" / "worktrees" / "tree" / "HEAD", "ref: refs/heads/main\n");
  write_file(folder / "tree" / ".git", "gitdir: " + (folder / ".git" / "worktrees" / "tree").string() + "\n");
  CHECK(source_revision(folder / "tree") == a);
  std::filesystem::remove_all(folder);
}

TEST_CASE("what disturbed a record's times is said in words") {
  Record record;
  record.steady_seconds.assign(20, 1e-3);
  record.clocks.emplace();
  CHECK(disturbance_of(record) == "");
  record.clocks->other_processes = 0;
  CHECK(disturbance_of(record) == "");
  record.clocks->other_processes = 2;
  CHECK(disturbance_of(record) == "other processes have the GPU open: 2");
  for (std::size_t i = 0; i < 10; ++i) record.steady_seconds[i] = 2e-3;
  CHECK(disturbance_of(record).find("; steady samples lie ") != std::string::npos);
}

TEST_CASE("progress is one line a point") {
  CHECK(to_string(MeasureProgress{1, 4, "p", PointState::measured, 1.25, ""}) == "[1/4] p: measured, 1.2 s");
  CHECK(to_string(MeasureProgress{2, 4, "p", PointState::unsupported, 0, "why"}) == "[2/4] p: not supported: why");
  CHECK(to_string(MeasureProgress{3, 4, "p", PointState::kept, 0, ""}) == "[3/4] p: already recorded, kept");
  CHECK(to_string(MeasureProgress{4, 4, "p", PointState::incorrect, 1, "why"}) == "[4/4] p: WRONG RESULT: why");
}
