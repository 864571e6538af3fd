// Tests how many copies an SM holds against a loop that adds one copy after the other until something is full.
#include "hardware/sm/residency.h"

#include <doctest/doctest.h>

#include <random>

namespace tilescope::residency_test {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

TEST_CASE("blocks of an SM equal a loop that adds blocks until threads, registers or shared memory are full") {
  HardwareProfile hardware = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  std::mt19937 engine(190919);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  int by_threads = 0, by_registers = 0, by_smem = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t warps = between(1, 32), registers = between(16, 255), smem = between(0, 227 * 1024);
    hardware.max_blocks_per_unit->value = between(1, 32),
    hardware.register_allocation_unit->value = 32 << between(0, 4);
    std::int64_t blocks = 0;
    const auto fits = [&](std::int64_t count) {
      const std::int64_t each = rounded_up(registers, hardware.register_allocation_unit->value / 32) * 32 * warps;
      return count <= hardware.max_blocks_per_unit->value && count * warps <= 64 && count * each <= 65536 &&
             count * (smem + 1024) <= 228 * 1024;
    };
    while (fits(blocks + 1)) ++blocks;
    Residency residency(hardware, Copied::blocks, warps * 32);
    residency.limit_registers(warps * 32 * allocated_registers(hardware, registers));
    residency.limit(fit_level(*hardware.level(LevelId::smem), Copied::blocks, 0, smem));
    CHECK(residency.copies() == blocks);
    by_threads += !residency.limited_by(), by_registers += residency.limited_by() == LevelId::reg,
        by_smem += residency.limited_by() == LevelId::smem;
  }
  CHECK(std::min({by_threads, by_registers, by_smem}) > 50);
}

TEST_CASE("a profile that states no limits limits nothing but the blocks of an SM") {
  HardwareProfile nothing;
  CHECK(Residency(nothing, Copied::blocks, 128).copies() == 32);
  CHECK(!Residency(nothing, Copied::parts_of_a_block, 128).limited());
  CHECK(allocated_registers(nothing, 129) == 136);
  CHECK(!fit_level(MemoryLevel{}, Copied::parts_of_a_block, 100, 0).copies_max);
}

}  // namespace tilescope::residency_test
