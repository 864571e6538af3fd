// GPUs compared term by term, and the thresholds that Napkin (arXiv 2412.03317, section 5.1) reports for the
// H100.
#include "lower/machine_levels.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "optimum/balance.h"

namespace machine_levels_test {

using namespace tilescope;
using namespace tilescope::lower;

namespace {

HardwareProfile profile(const std::string& id) {
  return find_profile(id, std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
}

}  // namespace

TEST_CASE("one H100 SXM5 equals 2.80 A100-80 for attention's term and 2.14 for a matmul's") {
  const Level h100 = dram_level(profile("h100_sxm"), 2), a100 = dram_level(profile("a100_sxm_80"), 2);
  CHECK(h100.memory == 132.0 * 227 * 1024 / 2);
  CHECK(a100.memory == 108.0 * 163 * 1024 / 2);
  CHECK(figure_of_merit(h100, 1) / figure_of_merit(a100, 1) == doctest::Approx(2.80).epsilon(2e-3));
  CHECK(figure_of_merit(h100, 0.5) / figure_of_merit(a100, 0.5) == doctest::Approx(2.14).epsilon(2e-3));
  CHECK(figure_of_merit(h100, 0) / figure_of_merit(a100, 0) ==
        doctest::Approx(3350.0 / 2039).epsilon(1e-12));  // bandwidth alone
}

TEST_CASE("on the H100 in fp16, device memory requires groups of 295 and 681 KB of memory") {
  const HardwareProfile h100 = profile("h100_sxm");
  const double ratio =
      flop_per_value(h100, Format::fp16, h100.level(LevelId::hbm)->bandwidth_bytes_per_second->value, 2);
  CHECK(ratio == doctest::Approx(590.7).epsilon(1e-4));
  CHECK(*least_contraction(ratio) == doctest::Approx(295.4).epsilon(2e-4));  // reported: 295
  CHECK(least_memory(ratio) == doctest::Approx(348932).epsilon(1e-5));
  CHECK(least_memory(ratio) * 2 / 1024 == doctest::Approx(682).epsilon(1e-3));  // KiB; reported: "681 KB"
}

// FlashAttention-3's table 1 (arXiv 2407.08608) gives 12 TB/s for the level above shared memory.
TEST_CASE("on the H100 in fp16, a 12 TB/s level requires groups of 82, and of 151 if 256 KiB hold the tile") {
  const double ratio = flop_per_value(profile("h100_sxm"), Format::fp16, 12e12, 2);
  CHECK(ratio == doctest::Approx(164.9).epsilon(1e-4));
  CHECK(*least_contraction(ratio) == doctest::Approx(82.5).epsilon(1e-3));                   // reported: 82
  CHECK(*least_contraction(ratio, 256 * 1024 / 2) == doctest::Approx(151.4).epsilon(1e-3));  // reported: 151
  CHECK(*least_contraction(ratio, 228 * 1024 / 2) ==
        doctest::Approx(159.4).epsilon(1e-3));  // the value for shared memory alone
}

TEST_CASE("the error for a profile without a number that a comparison needs names the path of the number") {
  HardwareProfile h100 = profile("h100_sxm");
  h100.file = "h100.yaml";
  const auto finding = [](const auto& call) -> std::string {
    try {
      call();
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string remedy = "is not in this profile, and the comparison needs it; add it with its source";
  CHECK(finding([&] { flop_per_value(h100, Format::int4, 1e12, 2); }) == "h100.yaml: error: compute.tensor: " + remedy);
  for (MemoryLevel& level : h100.levels) level.bandwidth_bytes_per_second.reset();
  CHECK(finding([&] { dram_level(h100, 2); }) == "h100.yaml: error: levels.hbm.bandwidth: " + remedy);
  h100.levels.clear();
  CHECK(finding([&] { dram_level(h100, 2); }) == "h100.yaml: error: levels.smem: is not in this profile; add it");
}

}  // namespace machine_levels_test
