// Compares the order of blocks with the index arithmetic of the kernels, written here a second time.
#include "predict/point/order/block_order.h"

#include <doctest/doctest.h>

#include <set>

#include "hardware/profile.h"

namespace tilescope::block_order_test {
namespace {

const HardwareProfile& h200() {
  static const HardwareProfile profile = load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml");
  return profile;
}

struct Case {
  Plan plan;
  Point point;
  Case(const std::string& kernel, const Workload& workload, const std::string& mask, std::size_t variant = 0)
      : plan(load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR)), point(default_point(plan)) {
    point.workload = workload, point.mask = *parse_mask(mask);
    for (const KernelVariant& candidate : plan.kernel.variants)
      if (candidate.head_dim == workload.d_qk && variant-- == 0) take_variant(point, plan.schedule, candidate);
  }
  BoundIsland bind(int island = 0) const { return bind_island(plan, h200(), point, island); }
};

// Position in the loop over an axis, found by the axis name: b, k, r, q or x.
std::int64_t trip(const BoundIsland& bound, const BlockPlace& place, const std::string& axis) {
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
    if (bound.plan.schedule.diagram.axes[index(bound.nest.loops[i].axis)].name == axis) return place[i];
  return 0;
}

}  // namespace

TEST_CASE(
    "Hopper kernels claim tiles in sections of heads; in a causal section the query tile changes slowest, from last to "
    "first") {
  for (const auto& [kernel, mask] : std::vector<std::pair<std::string, std::string>>{
           {"fused_wgmma", "none"}, {"fused_wgmma", "causal"}, {"fused_wgmma", "window:300"}, {"fused_fp8", "causal"}})
    for (const Workload w : {Workload{3, 8, 2, 1000, 1000, 128, 128}, Workload{2, 6, 6, 8192, 8192, 256, 256},
                             Workload{1, 4, 1, 100, 33000, 128, 128}, Workload{2, 16, 16, 8192, 8192, 128, 128}}) {
      const Case test(kernel, w, mask);
      const BoundIsland bound = test.bind();
      const BlockOrder order(bound);
      const std::int64_t group = w.heads_q / w.heads_kv, tile = test.point.tiles[0],
                         tiles_q = (w.q_len + tile - 1) / tile;
      const std::int64_t all = w.batch * w.heads_q, kv_bytes = w.kv_len * (w.d_qk + w.d_v) * 2;
      std::int64_t section = 1;  // heads_of_section() of fused_wgmma.cpp
      if (mask == "causal")
        section = std::clamp<std::int64_t>(62914560 / 2 / kv_bytes, 1, w.batch * w.heads_kv) * group;
      REQUIRE(order.size() == all * tiles_q);
      const std::int64_t first_tile = all % section != 0 ? all / section * section * tiles_q : 0;
      std::set<std::pair<std::int64_t, std::int64_t>> seen;
      for (std::int64_t n = 0; n < order.size(); ++n) {  // work_at() of work.cuh
        const std::int64_t i = n + first_tile < order.size() ? n + first_tile : n + first_tile - order.size();
        const std::int64_t first_head = i / (section * tiles_q) * section, in_section = i % (section * tiles_q);
        const std::int64_t heads = std::min(section, all - first_head), from_end = in_section / heads;
        const std::int64_t head = first_head + in_section - from_end * heads, row = (tiles_q - 1 - from_end) * tile;
        const BlockPlace place = order.at(n);
        const std::int64_t kv_head = trip(bound, place, "k");
        CHECK(trip(bound, place, "b") * w.heads_q + kv_head * group + trip(bound, place, "r") == head);
        CHECK(trip(bound, place, "q") * tile == row);
        const std::int64_t last_row = std::min(row + tile, w.q_len) - 1, shift = w.kv_len - w.q_len;
        const std::int64_t last_key = mask == "none" ? w.kv_len - 1 : std::min(w.kv_len - 1, last_row + shift);
        const std::int64_t first_key = mask == "window:300" ? std::max<std::int64_t>(0, row + shift - 299) : 0,
                           keys = test.point.tiles[1];
        CHECK(order.steps(place) == (last_key + keys) / keys - first_key / keys);
        seen.emplace(head, row);
      }
      CHECK(seen.size() == static_cast<std::size_t>(order.size()));
    }
}

TEST_CASE("the backward pass interleaves heads in groups whose size divides the number of heads in the grid") {
  const Workload w{2, 12, 6, 2000, 2000, 64, 64};
  for (const std::string mask : {"none", "causal"}) {
    const Case test("backward", w, mask);
    const BoundIsland bound = test.bind(1);
    const BlockOrder order(bound);
    std::int64_t turn = mask == "causal" ? (std::int64_t{25} << 20) / (2 * 2000 * 64 * 8) : 1;  // heads_a_turn()
    turn = std::min<std::int64_t>(turn, 6);
    while (6 % turn != 0) --turn;
    const std::int64_t tiles = (2000 + test.point.tiles[1] - 1) / test.point.tiles[1];
    for (std::int64_t i = 0; i < order.size(); ++i) {
      const std::int64_t x = i % (tiles * turn), y = i / (tiles * turn) % (6 / turn);
      const BlockPlace place = order.at(i);
      CHECK(trip(bound, place, "x") == x / turn);
      CHECK(trip(bound, place, "k") == y * turn + x % turn);
      CHECK(trip(bound, place, "b") == i / (tiles * 6));
    }
  }
}

TEST_CASE("the steps of all blocks add up to the live tiles of the launch") {
  for (const std::string kernel :
       {"fused_mma", "flash1", "case_study", "backward", "backward_split", "split_kv", "reference"})
    for (const std::string mask : {"none", "causal"}) {
      const Case test(kernel, {2, 4, 2, kernel == "split_kv" ? 4 : 777, 1111, 128, 128}, mask);
      for (int i = 0; i < static_cast<int>(test.plan.schedule.islands.size()); ++i) {
        const BoundIsland bound = test.bind(i);
        std::int64_t steps = 0;
        for (const std::int64_t one : steps_in_issue_order(bound)) steps += one;
        CHECK_MESSAGE(steps == visited_points(bound.nest, bound.live, {}, false),
                      kernel << " " << bound.island.name << " " << mask);
      }
    }
}

}  // namespace tilescope::block_order_test
