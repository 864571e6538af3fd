#include "hardware/changes.h"

#include <doctest/doctest.h>

#include <random>

#include "base/error.h"
#include "base/test_seed.h"
#include "hardware/derived.h"

namespace tilescope::changes_test {
namespace {

const std::string shipped_folder = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";

HardwareProfile completed(const std::string& name, RatesFrom from = RatesFrom::stated) {
  return ProfileCatalogue(shipped_folder).find(name, from);
}

std::string refusal(const std::string& name) {
  try {
    completed(name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

double dram(const HardwareProfile& gpu) { return gpu.level(LevelId::hbm)->bandwidth_bytes_per_second->value; }

}  // namespace

TEST_CASE("a changed number of a GPU takes its rates along by their rules") {
  const HardwareProfile plain = completed("h200_sxm"), wide = completed("h200[levels.hbm.bandwidth=+20%]");
  CHECK(wide.id == "h200_sxm[levels.hbm.bandwidth=+20%]");
  CHECK(dram(wide) == doctest::Approx(1.2 * dram(plain)));
  CHECK(wide.measured->hbm.read->value == doctest::Approx(1.2 * plain.measured->hbm.read->value));
  CHECK(wide.measured->hbm.read->source == derived_source);
  CHECK(wide.measured->hbm.latency->value == plain.measured->hbm.latency->value);
  CHECK(wide.measured->l2.read_private->value == plain.measured->l2.read_private->value);
  CHECK(dram(completed("h200_sxm[levels.hbm.bandwidth=6 TB/s]")) == 6e12);

  const HardwareProfile large = completed(changed_name("h200_sxm", "compute.units=160"));
  CHECK(large.units.value == 160);
  CHECK(large.measured->l2.read_private->value == doctest::Approx(plain.measured->l2.read_private->value * 160 / 132));
  std::int64_t units = 0;
  for (const UnitGroup& group : large.l2_groups->value) units += group.units;
  CHECK(units == 160);

  const HardwareProfile fast = completed("h200_sxm[compute.tensor.fp16=+100%]");
  CHECK(fast.measured->tensor.wgmma_smem.at(Format::fp16).at(128).value ==
        doctest::Approx(plain.measured->tensor.wgmma_smem.at(Format::fp16).at(128).value / 2));
  const HardwareProfile pipe = completed("a100_sxm_80[measured.hbm.read=+10%]");
  CHECK(pipe.measured->hbm.read->value == doctest::Approx(1.1 * completed("a100_sxm_80").measured->hbm.read->value));
}

TEST_CASE("a change of +20% is the change to the number that is 20 % larger, with stated and with derived rates") {
  std::mt19937 random(test_seed());
  for (const std::string gpu : {"h200_sxm", "b200_sxm", "l40s", "a100_sxm_80", "mi300x"})
    for (const RatesFrom from : {RatesFrom::stated, RatesFrom::derived}) {
      const HardwareProfile plain = completed(gpu, from);
      const std::vector<ProfileNumber> numbers = profile_numbers(plain);
      REQUIRE(numbers.size() > 15);
      for (int round = 0; round < 12; ++round) {
        const ProfileNumber& number = numbers[random() % numbers.size()];
        CAPTURE(gpu);
        CAPTURE(number.path);
        const HardwareProfile changed = completed(gpu + "[" + number.path + "=+20%]", from);
        for (const ProfileNumber& other : profile_numbers(changed))
          if (other.path == number.path) {
            const double rounding = number.dimension == Dimension::count ? 0.5 : 1e-9 * number.value;
            CHECK(std::abs(other.value - 1.2 * number.value) <= rounding);
          }
      }
    }
}

TEST_CASE("a change that no GPU can have is refused, with the nearest number") {
  CHECK(refusal("h200_sxm[levels.hbm.bandwith=+20%]").find("did you mean 'levels.hbm.bandwidth'?") !=
        std::string::npos);
  CHECK(refusal("h200_sxm[name=+20%]").find("--set name: is no number of h200_sxm") != std::string::npos);
  CHECK(refusal("h200_sxm[measured.hbm.raed=+20%]").find("measured.hbm.read") != std::string::npos);
  CHECK(refusal("h200_sxm[compute.units=-100%]").find("more than -100 percent") != std::string::npos);
  CHECK(refusal("h200_sxm[levels.hbm.bandwidth=5 GHz]").find("--set levels.hbm.bandwidth: ") != std::string::npos);
  CHECK(completed("mi300x[limits.registers=-20%]").registers_per_unit->value == 104858);  // 131072 before
  CHECK(refusal("h200_sxm[limits.registers=100000000]").find("expected at most 16777216") != std::string::npos);
  CHECK(refusal("h200_sxm[compute.units=262144]").find("expected at most 100000") != std::string::npos);
  CHECK(refusal("h200_sxm[compute.units]").find("expected a number of the profile and its value") != std::string::npos);
  CHECK(refusal("h200_sxm[compute.units=1;compute.units=2]").find("is given twice") != std::string::npos);
}

}  // namespace tilescope::changes_test
