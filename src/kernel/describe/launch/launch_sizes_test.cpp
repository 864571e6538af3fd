// Sizes of launches that are made up, and of launches on an H100 that were recorded.
#include "kernel/describe/launch/launch_sizes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text.h"
#include "kernel/describe/block_tile.h"

namespace launch_sizes_test {

using namespace tilescope;

namespace {

struct MadeLaunch {
  std::int64_t batch = 1, heads_kv = 1, group = 1, q_len = 1, kv_len = 1, head_dim = 64;
  TileSizes tile;
  bool causal = false, rows_inside_heads = true, one_index = false;

  std::int64_t heads() const { return heads_kv * group; }
  std::int64_t q_tiles() const { return (q_len + tile.tile_q - 1) / tile.tile_q; }

  // What blocks of such a kernel read. Rows of a head stand together, or those of all heads at one position.
  LaunchEvidence evidence(std::mt19937& random) const {
    LaunchEvidence e;
    const std::int64_t row_bytes = head_dim * 2;
    const std::int64_t q_row = rows_inside_heads ? row_bytes : row_bytes * heads(),
                       k_row = rows_inside_heads ? row_bytes : row_bytes * heads_kv;
    const std::int64_t q_head = rows_inside_heads ? row_bytes * q_len : row_bytes;
    const std::int64_t k_head = rows_inside_heads ? row_bytes * kv_len : row_bytes;
    const std::int64_t q_batch = row_bytes * q_len * heads(), k_batch = row_bytes * kv_len * heads_kv;
    e.grid =
        one_index ? std::array{q_tiles(), heads() * batch, std::int64_t{1}} : std::array{q_tiles(), heads(), batch};
    for (std::int64_t word :
         {heads(), heads_kv, q_len, kv_len, q_row / 2, q_head / 2, q_batch / 2, k_row / 2, k_head / 2, k_batch / 2})
      e.words.push_back(word);
    for (int other = 0; other < 3; ++other) e.words.push_back(static_cast<std::int64_t>(random() % 2'000'000'000));
    std::sort(e.words.begin(), e.words.end());
    e.words.erase(std::unique(e.words.begin(), e.words.end()), e.words.end());
    for (std::int64_t x = 0; x < e.grid[0]; ++x)
      for (std::int64_t y = 0; y < e.grid[1]; ++y)
        for (std::int64_t z = 0; z < e.grid[2]; ++z) {
          if ((x > 0) + (y > 0) + (z > 0) > 1 && random() % 20 != 0) continue;
          const std::int64_t head = one_index ? y % heads() : y, entry = one_index ? y / heads() : z;
          const std::int64_t end = causal ? std::min(kv_len, (x + 1) * tile.tile_q) : kv_len;
          const std::int64_t steps = (end + tile.tile_kv - 1) / tile.tile_kv, step = tile.tile_kv * k_row;
          const std::int64_t key = entry * k_batch + head / group * k_head;
          const std::int64_t query = entry * q_batch + head * q_head + x * tile.tile_q * q_row;
          e.blocks.push_back({.block = {x, y, z},
                              .arrays = {{0, false, query, query, 0},
                                         {8, false, key, key + (steps - 1) * step, steps > 1 ? step : 0}}});
        }
    return e;
  }
};

MadeLaunch random_launch(std::mt19937& random) {
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  MadeLaunch made{
      .batch = from(1, 5), .heads_kv = from(1, 6), .group = from(1, 4), .head_dim = from(1, 2) * 64, .tile = {}};
  made.tile = {
      .tile_q = from(1, 3) * 64, .tile_kv = from(1, 4) * 32, .head_dim = made.head_dim, .v_head_dim = made.head_dim};
  made.q_len = from(70, 1500), made.kv_len = from(300, 2500);
  made.causal = random() % 2 == 0, made.rows_inside_heads = random() % 2 == 0, made.one_index = random() % 2 == 0;
  if (made.causal) made.kv_len = made.q_len = std::max(made.q_len, std::int64_t{300});
  return made;
}

// Whether a size that was found is the one of the launch.
void check_size(std::optional<std::int64_t> found, std::int64_t size, int& sizes) {
  if (!found) return;
  CHECK(*found == size);
  ++sizes;
}

}  // namespace

TEST_CASE("sizes of made-up launches are found or asked for, and never wrong") {
  std::mt19937 random(5);
  int sizes = 0, whole = 0;
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    const MadeLaunch made = random_launch(random);
    CAPTURE(round);
    CAPTURE(made.batch);
    CAPTURE(made.heads_kv);
    CAPTURE(made.group);
    CAPTURE(made.q_len);
    CAPTURE(made.kv_len);
    const LaunchSizes found = launch_sizes(made.evidence(random), made.tile);
    const std::int64_t folded = found.folded ? made.batch : 1;
    check_size(found.batch, made.batch / folded, sizes), check_size(found.heads_q, made.heads() * folded, sizes);
    check_size(found.heads_kv, made.heads_kv * folded, sizes);
    check_size(found.q_len, made.q_len, sizes), check_size(found.kv_len, made.kv_len, sizes);
    const bool sees_all = (made.kv_len + made.tile.tile_kv - 1) / made.tile.tile_kv == 1 || made.q_tiles() == 1;
    if (!found.mask.empty() && !sees_all) CHECK(found.mask == (made.causal ? "causal" : "none"));
    if (found.unknown.empty()) ++whole;
  }
  CHECK(sizes > 4 * rounds);
  CHECK(whole > rounds * 8 / 10);
}

TEST_CASE("blocks that claim their next tile show the order of tiles by their first ones") {
  // Three tiles of queries, the last one first; four heads, two of them for each head of keys; two entries. 20 blocks.
  constexpr std::int64_t row = 128, q_len = 170, kv_len = 500, tiles = 3, heads = 4, batch = 2;
  LaunchEvidence e;
  e.grid = {20, 1, 1}, e.words = {2, 3, 4, 24, q_len, kv_len}, e.guesses = 1, e.claims = true;
  for (std::int64_t block = 0; block < e.grid[0]; ++block) {
    const std::int64_t tile = tiles - 1 - block % tiles, head = block / tiles % heads, entry = block / tiles / heads;
    const std::int64_t query = (entry * heads + head) * q_len + tile * 64, key = (entry * 2 + head / 2) * kv_len;
    e.blocks.push_back(
        {.block = {block, 0, 0},
         .arrays = {{0, false, query * row, query * row, 0}, {8, false, key * row, (key + 7 * 64) * row, -64 * row}}});
  }
  const TileSizes tile{.tile_q = 64, .tile_kv = 64, .head_dim = 64, .v_head_dim = 64};
  const Workload known{
      .batch = batch, .heads_q = heads, .heads_kv = 2, .q_len = q_len, .kv_len = kv_len, .d_qk = 64, .d_v = 64};
  const LaunchSizes found = launch_sizes(e, tile, known);
  CHECK(found.unknown.empty());
  CHECK(found.order == "q, heads, batch");
  CHECK(found.falling);
  CHECK(found.q_falling);
  CHECK(launch_sizes(e, tile).order.empty());  // without the sizes, the number of tiles is not known
  e.claims = false;                            // an integer in memory may decide anything
  CHECK(launch_sizes(e, tile, known).order.empty());
}

TEST_CASE("a launch without a loop over an array has no sizes; lines of evidence are read as they were written") {
  LaunchEvidence evidence;
  CHECK(launch_sizes(evidence, {64, 64, 64, 64}).unknown.size() == 1);
  std::mt19937 random(9);
  evidence = random_launch(random).evidence(random);
  evidence.claims = true;
  evidence.maps.push_back({112, 2, {64, 333, 1, 36}, {128, 42624, 42624}, {64, 64, 1, 1}});
  CHECK(evidence_json(read_evidence(evidence_json(evidence), "line")) == evidence_json(evidence));
}

TEST_CASE("sizes of launches on an H100 follow from their parameters, grid and code") {
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/described/h100_launches.jsonl");
  int launches = 0, whole = 0;
  for (std::string line; std::getline(file, line);) {
    const auto launch = nlohmann::json::parse(line);
    const auto& stated = launch.at("stated");
    CAPTURE(stated.dump());
    const auto tile = launch.at("tile").get<std::vector<std::int64_t>>();
    const LaunchSizes found = launch_sizes(read_evidence(launch.at("evidence").dump(), "h100_launches.jsonl"),
                                           {tile[0], tile[1], tile[2], tile[3], tile[4]});
    const std::int64_t folded = found.folded ? stated.at("batch").get<std::int64_t>() : 1;
    int sizes = 0;
    check_size(found.batch, stated.at("batch").get<std::int64_t>() / folded, sizes);
    check_size(found.heads_q, stated.at("heads_q").get<std::int64_t>() * folded, sizes);
    check_size(found.heads_kv, stated.at("heads_kv").get<std::int64_t>() * folded, sizes);
    check_size(found.q_len, stated.at("q_len"), sizes), check_size(found.kv_len, stated.at("kv_len"), sizes);
    if (!found.mask.empty()) CHECK(found.mask == stated.at("mask").get<std::string>());
    ++launches, whole += found.unknown.empty() ? 1 : 0;
    CHECK(found.unknown.empty() == launch.at("found").get<bool>());
  }
  CHECK(launches > 100);
  CHECK(whole * 100 >= launches * 85);
}

}  // namespace launch_sizes_test
