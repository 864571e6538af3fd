// The cache beside counters of sweeps of local memory (validate/tools/last_use), with loads of last use and with
// others, alone and beside data that is read again; profiles beside counters of launches that read again what the one
// before has read (validate/tools/read_again).
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/files.h"
#include "hardware/profile.h"
#include "predict/l2/cache/cache.h"

namespace tilescope::last_use_test {
namespace {

struct SweptParts {
  double read = 0, written = 0;  // DRAM bytes over the bytes stored to the L2
};

// The launch as the cache sees it. as_others: loads of last use are taken for ordinary ones.
SweptParts simulated(const CacheShape& shape, const nlohmann::json& file, const nlohmann::json& launch,
                     bool as_others) {
  const int places = file["places"].get<int>(), sweeps = file["sweeps"].get<int>();
  const int blocks = file["environment"]["units"].get<int>(), age = launch["age"].get<int>();
  const bool last_use = launch["loads"] == "last_use" && !as_others, apart = launch["apart"] == 1;
  const std::int64_t used = launch["used"].get<std::int64_t>(), threads = file["threads"].get<std::int64_t>();
  const std::int64_t frame = (used + file["frame_beyond_used"].get<std::int64_t>()) * threads;
  const std::int64_t place = used * threads / places;
  constexpr std::int64_t frames_of_a_unit = 16;  // of 64 warps
  std::vector<CachePiece> pieces;
  std::vector<int> first{0};
  for (int block = 0; block < blocks; ++block)
    for (int i = 0; i < places; ++i) {
      pieces.push_back({block * frames_of_a_unit * frame + i * place, place});
      first.push_back(static_cast<int>(pieces.size()));
    }
  L2Cache cache;
  cache.reset_sample(shape, pieces, first);
  using Use = L2Cache::Use;
  for (int step = 0; step < sweeps * places; ++step)
    for (int block = 0; block < blocks; ++block) {
      const int begin = apart ? block * 5 % places : 0, side = block % 2;
      cache.later(Use::store, block * places + (step + begin) % places, side, 0);
      if (step < age) continue;
      cache.later(last_use ? Use::read_last : Use::read, block * places + (step + begin - age) % places, side, 1);
    }
  const L2Cache::Tallies found = cache.settle();
  const auto stored = static_cast<double>(used * threads * blocks * sweeps);
  return {static_cast<double>(found[1].lacked) / stored, static_cast<double>(found[0].written) / stored};
}

// Root of the mean squared difference from the counters.
struct Difference {
  double read = 0, written = 0;
  int launches = 0;
};

Difference difference(const std::string& gpu, const char* loads, bool as_others) {
  const std::string root = TILESCOPE_SOURCE_DIR;
  const auto file = nlohmann::json::parse(read_file(root + "/validate/microbench/last_use/" + gpu + ".json"));
  const CacheShape shape = cache_shape(load_profile(root + "/hardware/" + gpu + ".yaml"));
  Difference found;
  for (const auto& launch : file["launches"]) {
    if (launch["loads"] != loads || launch["apart"] != 1) continue;
    const SweptParts parts = simulated(shape, file, launch, as_others);
    const double stored = launch["l2_stored"].get<double>();
    found.read += std::pow(parts.read - launch["dram_read"].get<double>() / stored, 2);
    found.written += std::pow(parts.written - launch["dram_written"].get<double>() / stored, 2);
    ++found.launches;
  }
  REQUIRE(found.launches == 30);
  return {std::sqrt(found.read / found.launches), std::sqrt(found.written / found.launches), found.launches};
}

// A launch of beside.cu: bytes that DRAM delivers beyond the first time, as a part of the bytes that are read again.
double missing_beside(const CacheShape& shape, const nlohmann::json& file, const nlohmann::json& launch,
                      bool as_others) {
  const int places = file["places"], sweeps = file["sweeps"], groups = file["groups"];
  const int blocks = file["environment"]["units"], age = launch["age"], chunks = launch["distance"].get<int>() * groups;
  const std::int64_t chunk = file["chunk"], used = launch["used"], threads = file["threads"];
  const std::int64_t frame = (used + file["frame_beyond_used"].get<std::int64_t>()) * threads,
                     place = used * threads / places;
  constexpr std::int64_t frames_of_a_unit = 16, local = 64 << 20;  // local: address of the first frame
  std::vector<CachePiece> pieces;
  for (int i = 0; i < chunks; ++i) pieces.push_back({i * chunk, chunk});
  for (int block = 0; block < blocks; ++block)
    for (int i = 0; i < places; ++i) pieces.push_back({local + block * frames_of_a_unit * frame + i * place, place});
  std::vector<int> first(pieces.size() + 1);
  std::iota(first.begin(), first.end(), 0);
  L2Cache cache;
  cache.reset_sample(shape, pieces, first);
  using Use = L2Cache::Use;
  const Use load = launch["loads"] == "last_use" && !as_others ? Use::read_last : Use::read;
  for (int step = 0; step < sweeps * places; ++step) {
    for (int group = 0; group < groups; ++group)
      for (int side = 0; side < 2; ++side)
        cache.later(Use::read, (step * groups + group) % chunks, side, step * groups < chunks ? 1 : 0);
    for (int block = 0; block < blocks; ++block) {
      const int of_block = chunks + block * places;
      cache.later(Use::store, of_block + step % places, block % 2, 2);
      if (launch["loads"] != "none" && step >= age) cache.later(load, of_block + (step - age) % places, block % 2, 0);
    }
  }
  return static_cast<double>(cache.settle()[0].lacked) /
         static_cast<double>((std::int64_t{sweeps} * places * groups - chunks) * chunk);
}

}  // namespace

// Loads two places after their store, or none: 0.05 to 0.1; 0.12 to 0.28 with stores of local memory that left no copy.
TEST_CASE("data stays beside sweeps of local memory as recorded, longer where the loads are last uses") {
  const std::string root = TILESCOPE_SOURCE_DIR;
  for (const std::string gpu : {"h100_sxm", "h200_sxm"}) {
    CAPTURE(gpu);
    const auto file = nlohmann::json::parse(read_file(root + "/validate/microbench/last_use/beside_" + gpu + ".json"));
    const CacheShape shape = cache_shape(load_profile(root + "/hardware/" + gpu + ".yaml"));
    double last_use = 0, as_others = 0, others = 0;
    int marked = 0, unmarked = 0;
    for (const auto& launch : file["launches"]) {
      if (launch["age"] > 2 || launch["distance"] < 8) continue;
      const std::int64_t chunks = launch["distance"].get<std::int64_t>() * file["groups"].get<std::int64_t>();
      const double first = static_cast<double>(chunks * file["chunk"].get<std::int64_t>());
      const std::int64_t again =
          file["sweeps"].get<std::int64_t>() * file["places"].get<std::int64_t>() * file["groups"].get<std::int64_t>() -
          chunks;
      const double found =
          (launch["dram_read"].get<double>() - first) / static_cast<double>(again * file["chunk"].get<std::int64_t>());
      const double square = std::pow(missing_beside(shape, file, launch, false) - found, 2);
      if (launch["loads"] == "last_use") {
        last_use += square, ++marked;
        as_others += std::pow(missing_beside(shape, file, launch, true) - found, 2);
      } else {
        others += square, ++unmarked;
      }
    }
    REQUIRE(marked == 25);
    REQUIRE(unmarked == 50);
    CHECK(std::sqrt(last_use / marked) < 0.08);
    CHECK(std::sqrt(others / unmarked) < 0.12);
    CHECK(as_others > 4 * last_use);  // they are not ordinary loads
  }
}

TEST_CASE("loads of last use find in the L2 what counters of sweeps of local memory say") {
  for (const auto& [gpu, most] : {std::pair{"h100_sxm", 0.1}, {"h200_sxm", 0.08}}) {
    CAPTURE(gpu);
    const Difference plain = difference(gpu, "plain", false), last_use = difference(gpu, "last_use", false);
    CHECK(plain.read < 0.13);
    CHECK(plain.written < 0.12);
    CHECK(last_use.read < most);
    CHECK(last_use.written < 0.1);
    CHECK(difference(gpu, "last_use", true).read > 1.5 * last_use.read);  // they are not ordinary loads
  }
}

// `l2.again`: where the counted curve of launches with four blocks an SM passes each percentage.
TEST_CASE("profiles state what launches that read again bring from memory as the counters do") {
  const std::string root = TILESCOPE_SOURCE_DIR;
  const auto file = nlohmann::json::parse(read_file(root + "/validate/microbench/read_again/h100_sxm.json"));
  const HardwareProfile h100 = load_profile(root + "/hardware/h100_sxm.yaml"),
                        h200 = load_profile(root + "/hardware/h200_sxm.yaml");
  const auto& again = h100.measured->l2.again;
  REQUIRE(again.size() == 10);
  const double slices = static_cast<double>(h200.l2_slices->value) / static_cast<double>(h100.l2_slices->value);
  for (const auto& [percent, stated] : again) {
    CAPTURE(percent);
    CHECK(h200.measured->l2.again.at(percent).value == doctest::Approx(stated.value * slices).epsilon(1e-3));
    double bytes = 0, below_bytes = 0, below_part = 0;
    for (const auto& launch : file["launches"]) {
      if (launch["blocks"] != "4 blocks an SM" || launch["bytes"].get<double>() < 32e6) continue;
      const double at = launch["bytes"].get<double>(), part = launch["dram_read"].get<double>() / at,
                   wanted = static_cast<double>(percent) / 100;
      if (part >= wanted && bytes == 0)
        bytes = below_bytes + (at - below_bytes) * (wanted - below_part) / (part - below_part);
      below_bytes = at, below_part = part;
    }
    CHECK(stated.value == doctest::Approx(bytes).epsilon(1e-3));
  }
}

}  // namespace tilescope::last_use_test
