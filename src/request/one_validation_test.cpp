// A point has one validation: a record, an experiment and the command line take the same ones.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "base/error.h"
#include "base/test_seed.h"
#include "records/example_record.h"
#include "records/experiment.h"
#include "records/point.h"
#include "request/read_point.h"

namespace one_validation_test {

using namespace tilescope;

namespace {

using validate::MeasurePoint;

constexpr std::int64_t tera = std::int64_t{1} << 40;

MeasurePoint drawn_point(std::mt19937& random) {
  const auto one_of = [&](const std::vector<std::int64_t>& values) { return values[random() % values.size()]; };
  // Most values are good, so that one that is not is often the only one.
  const auto size = [&](std::int64_t usual) {
    return random() % 12 == 0 ? one_of({0, -1, 1, 3, tera, tera + 1, std::int64_t{1} << 62}) : usual;
  };
  const std::vector<const char*> masks{"none", "causal", "window:4", "window:0", "caus", "prefix:3", ""};
  MeasurePoint point{.kernel = "fused_mma",
                     .mask = random() % 4 == 0 ? masks[random() % masks.size()] : "none",
                     .workload = {size(2), size(16), size(8), size(128), size(256), size(64), size(64)}};
  if (random() % 2 == 0)
    point.tile_q = size(64), point.tile_kv = size(32),
    point.warps = random() % 6 == 0 ? one_of({-1, 1, 64, 65, tera}) : 4;
  return point;
}

bool taken(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

void read_as_record(const MeasurePoint& point) {
  validate::Record record = validate::example_record();
  record.point = point;
  validate::MeasuredLaunch launch;
  launch.name = "forward", launch.launch = {.grid = {1, 1, 1},
                                            .block = {128, 1, 1},
                                            .registers_per_thread = 64,
                                            .static_smem = 0,
                                            .dynamic_smem = 0,
                                            .local_bytes_per_thread = 0,
                                            .blocks_per_unit = 1};
  record.islands = {launch};
  validate::parse_record(to_json(record), "r.json");
}

void read_as_experiment(const MeasurePoint& p) {
  const validate::PointWorkload& w = p.workload;
  const std::string tiles =
      p.tile_q ? fmt::format("tiles: [{{q: {}, kv: {}, warps: {}}}], ", p.tile_q, p.tile_kv, p.warps) : "";
  validate::parse_experiment(
      fmt::format("schema: tilescope/experiment/1\nname: one\nhardware: h200_sxm\npoints:\n"
                  "  - {{kernel: fused_mma, {}dtype: [fp16], batch: [{}], heads_q: [{}], heads_kv: [{}], q_len: [{}], "
                  "kv_len: [{}], head_dim: [{}], v_head_dim: [{}], mask: [\"{}\"]}}\n",
                  tiles, w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v, p.mask),
      "e.yaml");
}

void read_as_options(const MeasurePoint& p, const Plan& plan) {
  const validate::PointWorkload& w = p.workload;
  Options options;
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"batch", w.batch},   {"heads-q", w.heads_q}, {"heads-kv", w.heads_kv}, {"q-len", w.q_len},
      {"kv-len", w.kv_len}, {"head-dim", w.d_qk},   {"v-head-dim", w.d_v}};
  for (const auto& [name, value] : sizes) options = options.with(name, std::to_string(value));
  options = options.with("mask", p.mask);
  if (p.tile_q) options = options.with("tile", fmt::format("q={},kv={},warps={}", p.tile_q, p.tile_kv, p.warps));
  read_point(options, plan);
}

}  // namespace

TEST_CASE("a record, an experiment and the command line take the same points") {
  const Plan plan = read_plan(Options().with("kernel", "fused_mma"));
  std::mt19937 random(test_seed());
  std::size_t good = 0;
  constexpr std::size_t points = 1500;
  for (std::size_t i = 0; i < points; ++i) {
    const MeasurePoint point = drawn_point(random);
    if (point.tile_q != 0 && (point.tile_kv == 0)) continue;  // "not stated" in a record, an error elsewhere
    CAPTURE(point_id(point));
    const bool expected = problems_of(point).empty();
    CHECK(taken([&] { read_as_record(point); }) == expected);
    CHECK(taken([&] { read_as_experiment(point); }) == expected);
    CHECK(taken([&] { read_as_options(point, plan); }) == expected);
    good += expected;
  }
  CHECK(good > points / 10);
  CHECK(good < points * 9 / 10);
}

}  // namespace one_validation_test
