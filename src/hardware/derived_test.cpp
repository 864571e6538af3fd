#include "hardware/derived.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace derived_test {

using namespace tilescope;

namespace {

const std::filesystem::path hardware_folder = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";

const std::vector<HardwareProfile>& all_profiles() {
  static const std::vector<HardwareProfile> profiles = list_profiles(hardware_folder);
  return profiles;
}

const HardwareProfile& a_profile(const std::string& id) {
  return *std::find_if(all_profiles().begin(), all_profiles().end(),
                       [&](const HardwareProfile& p) { return p.id == id; });
}

std::map<std::string, double> rates_of(const HardwareProfile& profile) {
  std::map<std::string, double> values;
  if (profile.measured)
    for_each_measured(*profile.measured, [&](const std::string& path, Dimension, const Sourced<double>& value) {
      values[path] = value.value;
    });
  return values;
}

HardwareProfile by_rules(const std::string& id) {
  return with_derived_rates(a_profile(id), RatesFrom::derived, all_profiles());
}

}  // namespace

TEST_CASE("derived rates of a GPU do not depend on what was measured on it") {
  for (const std::string id : {"h200_sxm", "h100_sxm", "a100_sxm_80"}) {
    HardwareProfile spoiled = a_profile(id);
    visit_measured(*spoiled.measured, [](const std::string&, const std::string&, Dimension, auto& field) {
      if constexpr (std::is_same_v<decltype(field), MeasuredRates::Value&>) {
        if (field) field->value *= 3;
      } else {
        field = {};
      }
    });
    spoiled.l2_ways.reset(), spoiled.l2_groups.reset();
    std::vector<HardwareProfile> others = all_profiles();
    for (HardwareProfile& other : others)
      if (other.id == id) other = spoiled;
    CHECK(rates_of(with_derived_rates(spoiled, RatesFrom::derived, others)) == rates_of(by_rules(id)));
  }
}

TEST_CASE("rules give the values that their formulas say") {
  const double efficiency = (4582.0 / 4800 + 3108.0 / 3350) / 2;  // of the measured GPUs' DRAM
  const HardwareProfile a100 = by_rules("a100_sxm_80"), l40s = by_rules("l40s"), l4 = by_rules("l4");
  CHECK(a100.measured->hbm.read->value == doctest::Approx(2039e9 * efficiency).epsilon(1e-3));
  CHECK(l40s.measured->hbm.read->value == doctest::Approx(864e9 * efficiency).epsilon(1e-3));
  CHECK(a100.measured->tensor.mma.at(Format::fp16).value == 8);
  CHECK(l40s.measured->tensor.mma.at(Format::fp16).value == 16);
  CHECK(a100.measured->pipes.ffma->value == 64);
  CHECK(l40s.measured->pipes.ffma->value == 128);
  CHECK(a100.measured->local.l1->value == 192 * 1024);
  CHECK(l40s.measured->l2.read_private->value == doctest::Approx(4.1e12));
  const double ada = (4.1e12 / (142 * 2.52e9) + 3.6e12 / (128 * 2.52e9)) / 2;  // L2 bytes a clock and SM
  CHECK(l4.measured->l2.read_private->value == doctest::Approx(ada * 58 * 2.04e9));
  CHECK(a100.measured->tensor.wgmma_smem.empty());
  CHECK(by_rules("h200_sxm").measured->tensor.wgmma_smem.at(Format::fp16).at(128).value == 64);
  CHECK(by_rules("h200_sxm").measured->sync.named_barrier->value ==
        a_profile("h100_sxm").measured->sync.named_barrier->value);
  CHECK(!by_rules("mi300x").measured);
}

TEST_CASE("a profile keeps what it states, and what it lacks is derived and named") {
  for (const HardwareProfile& profile : all_profiles()) {
    CAPTURE(profile.id);
    const HardwareProfile completed = with_derived_rates(profile, RatesFrom::stated, all_profiles());
    const auto now = rates_of(completed);
    for (const auto& [path, value] : rates_of(profile)) CHECK_MESSAGE(now.at(path) == value, path);
    CHECK(lacking_entries(completed).empty());
    CHECK(lacking_entries(profile).empty() ==
          (profile.id == "h100_sxm" || profile.id == "h200_sxm" || profile.vendor != "NVIDIA"));
  }
}

TEST_CASE("each entry that a measured profile loses is named, and its rule gives another value than nothing") {
  const HardwareProfile& whole = a_profile("h200_sxm");
  std::size_t entries = 0;
  for (const DerivedRule& rule : derived_rules()) {
    const HardwareProfile stripped = without_entry(whole, rule.entry);
    const std::vector<DerivedRule> lacking = lacking_entries(stripped);
    CAPTURE(rule.entry);
    if (lacking.empty()) continue;  // a rule for other compute capabilities alone
    ++entries;
    REQUIRE(lacking.size() == 1);
    CHECK(lacking.front().entry == rule.entry);
    CHECK(lacking_entries(with_derived_rates(stripped, RatesFrom::stated, all_profiles())).empty());
  }
  CHECK(entries >= derived_rules().size() - 1);
}

TEST_CASE("the basis of a group says which of its values were measured, published or derived") {
  CHECK(basis_of_group(a_profile("h200_sxm"), "hbm") == Basis::measured);
  CHECK(basis_of_group(a_profile("a100_sxm_80"), "tensor") == Basis::published);
  CHECK(basis_of_group(by_rules("a100_sxm_80"), "tensor") == Basis::derived);
  CHECK(basis_of_group(with_derived_rates(a_profile("a100_sxm_80"), RatesFrom::stated, all_profiles()), "hbm") ==
        Basis::mixed);
  CHECK(basis_of_group(a_profile("mi300x"), "hbm") == Basis::published);
}

}  // namespace derived_test
