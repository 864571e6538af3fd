#include "hardware/measured_write.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "hardware/profile.h"

namespace measured_write_test {

using namespace tilescope;

namespace {

const std::string shipped_file = std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml";

HardwareProfile loaded(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / ("tilescope_written_" + std::to_string(::getpid()));
  std::ofstream(file) << text;
  const HardwareProfile profile = load_profile(file);
  std::filesystem::remove(file);
  return profile;
}

// A value for every field; maps get two keys each. All differ.
std::vector<MeasuredEntry> one_of_each() {
  std::vector<MeasuredEntry> entries;
  MeasuredRates rates;
  double number = 1;
  const auto scale = [](Dimension dimension) {
    return dimension == Dimension::seconds            ? 1e-9
           : dimension == Dimension::joules           ? 1e-12
           : dimension == Dimension::bytes_per_second ? 1e9
           : dimension == Dimension::bytes            ? 1048576.0
           : dimension == Dimension::hertz            ? 1e6
                                                      : 1.0;
  };
  visit_measured(rates, [&](const std::string& group, const std::string& key, Dimension dimension, const auto& field) {
    const auto add = [&](const std::string& below) {
      entries.push_back({group + "." + key + below, scale(dimension) * number, "note \"quoted\": of " + key});
      number += 1.5;
    };
    using Field = std::decay_t<decltype(field)>;
    const std::string prefix = "." + count_prefix(group);
    if constexpr (std::is_same_v<Field, MeasuredRates::ByFormat>) add(".fp16"), add(".int8");
    else if constexpr (std::is_same_v<Field, MeasuredRates::ByCount>) add(prefix + "8"), add(prefix + "16");
    else if constexpr (std::is_same_v<Field, MeasuredRates::ByFormatAndCount>)
      add(".fp16" + prefix + "8"), add(".fp16" + prefix + "16"), add(".int8" + prefix + "8");
    else add("");
  });
  return entries;
}

}  // namespace

TEST_CASE("every measured field that is written is read back with its value") {
  const std::vector<MeasuredEntry> entries = one_of_each();
  const HardwareProfile profile =
      loaded(with_measured(read_file(shipped_file), "mine", "a test: \\\\ and more", measured_yaml(entries)));
  REQUIRE(profile.measured);
  CHECK(profile.id == "mine");
  std::map<std::string, double> found;
  for_each_measured(*profile.measured, [&](const std::string& path, Dimension, const Sourced<double>& value) {
    found[path] = value.value;
    CHECK(value.source == measured_source);
  });
  CHECK(found.size() == entries.size());
  for (const MeasuredEntry& entry : entries) CHECK(found.at(entry.path) == doctest::Approx(entry.value).epsilon(1e-3));
}

TEST_CASE("writing measured values leaves the rest of a profile unchanged; a second write replaces the first") {
  const std::string base = read_file(shipped_file);
  const std::string once = with_measured(base, "h200_sxm", "first", measured_yaml({{"hbm.read", 4e12, ""}}));
  const std::string twice = with_measured(once, "h200_sxm", "second", measured_yaml({{"hbm.copy", 4.2e12, ""}}));
  const HardwareProfile first = loaded(once), second = loaded(twice);
  CHECK(first.sources.at(measured_source) == "first");
  CHECK(second.sources.at(measured_source) == "second");
  CHECK(first.measured->hbm.read->value == 4e12);
  CHECK_FALSE(second.measured->hbm.read);
  CHECK(second.measured->hbm.copy->value == doctest::Approx(4.2e12));
  CHECK(second.work_counters.size() == load_profile(shipped_file).work_counters.size());
  CHECK(second.level(LevelId::hbm)->bandwidth_bytes_per_second->source ==
        load_profile(shipped_file).level(LevelId::hbm)->bandwidth_bytes_per_second->source);
}

TEST_CASE("a value measured by another method is kept with its source and note unless it is measured again") {
  const auto file = std::filesystem::temp_directory_path() / ("tilescope_kept_" + std::to_string(::getpid()));
  std::ofstream(file) << with_measured(read_file(shipped_file), "h200_sxm", "first",
                                       measured_yaml({{"hbm.read", 4e12, "by hand", "M"},
                                                      {"hbm.write", 3e12},
                                                      {"hbm.copy", 2e12, "", "M"},
                                                      {"l2.gone.p5", 2e7, "", "M"}}));
  // A curve that is measured again is replaced as a whole, because its points may differ.
  const std::vector<MeasuredEntry> kept = kept_entries(file, {{"hbm.copy", 1e12}, {"l2.gone.p15", 3e7}});
  std::filesystem::remove(file);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].path == "hbm.read");
  CHECK(kept[0].value == doctest::Approx(4e12));
  CHECK(kept[0].note == "by hand");
  CHECK(kept[0].source == "M");
}

TEST_CASE("numbers are rounded and written in readable units") {
  CHECK(measured_yaml(
            {{"hbm.read", 4.2345678e12, ""}, {"launch.interval", 2.51e-6, ""}, {"hbm.latency", 6.5e-7, "far"}}) ==
        "measured:\n  hbm:\n    read: {value: 4235 GB/s, source: MB}\n"
        "    latency: {value: 650 ns, source: MB, note: \"far\"}\n"
        "  launch:\n    interval: {value: 2.51 us, source: MB}\n");
  CHECK(measured_yaml({{"tensor.wgmma_smem.fp16.n64", 32.04, ""}, {"tensor.wgmma_smem.fp16.n128", 64, ""}}) ==
        "measured:\n  tensor:\n    wgmma_smem:\n      fp16:\n        n64: {value: 32.04 clk, source: MB}\n"
        "        n128: {value: 64 clk, source: MB}\n");
}

TEST_CASE("an entry that cannot be written is refused with the reason") {
  CHECK_THROWS_WITH_AS(measured_yaml({{"hbm.reed", 1, ""}}),
                       "error: hardware measure: no field of a profile is called 'hbm.reed'", InputError);
  CHECK_THROWS_WITH_AS(with_measured("{id: a, sources: {}}\n", "a", "", ""),
                       "error: hardware measure: the base profile must have lines that begin with 'id:' and "
                       "'sources:'; write it as the shipped ones are",
                       InputError);
}

TEST_CASE("measured properties of a level take the place of older ones; other lines of the profile do not change") {
  const std::string base = read_file(shipped_file);
  const std::string text = with_measured(base, "h200_sxm", "a test", measured_yaml({{"hbm.read", 4e12, ""}}));
  const std::string written =
      with_level_values(text, "l2", {{"ways", "32", "a"}, {"groups", "66a 66b", "b"}, {"dirty_ways", "4", "c"}});
  const HardwareProfile profile = loaded(written);
  CHECK(profile.l2_ways->value == 32);
  CHECK(profile.l2_ways->source == measured_source);
  CHECK(profile.l2_dirty_ways->value == 4);
  REQUIRE(profile.l2_groups->value.size() == 2);
  CHECK(profile.l2_groups->value[1].partition == 1);
  CHECK(std::count(written.begin(), written.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  CHECK(with_level_values(text, "l2", {}) == text);

  const std::string a100 = read_file(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/a100_sxm_80.yaml");
  const std::string added = with_level_values(
      with_measured(a100, "mine", "a test", measured_yaml({{"hbm.read", 2e12, ""}})), "l2", {{"ways", "16", "a"}});
  CHECK_FALSE(loaded(a100).l2_ways);
  CHECK(loaded(added).l2_ways->value == 16);
  CHECK_THROWS_AS(with_level_values(text, "l9", {}), InputError);
}

}  // namespace measured_write_test
