// Tests that impossible schedules are neither legal nor ranked.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>

#include "base/text.h"
#include "derive/derivation.h"
#include "derive/present/present.h"

namespace tilescope::impossible_schedules_test {
namespace {

std::string bundled_models() { return std::string(TILESCOPE_SOURCE_DIR) + "/models"; }

FusedKernel all_of(const Primitives& primitives) {
  std::vector<ArrayId> outputs;
  for (std::size_t a = 0; a < primitives.diagram.arrays.size(); ++a)
    if (primitives.diagram.arrays[a].role == ArrayRole::output)
      outputs.push_back(static_cast<ArrayId>(static_cast<int>(a)));
  return kernel_for(primitives, outputs, {});
}

}  // namespace

TEST_CASE("a contraction is complete before an exponential or a maximum uses it") {
  const Diagram diagram = find_diagram("cross_entropy", bundled_models());
  const Primitives primitives = expand(diagram);
  const KernelRules rules(primitives, all_of(primitives));
  const auto axis = [&](const char* name) { return *diagram.find_axis(name); };
  // The loop over the width h is outside the loop over the vocabulary v. So each step of the vocabulary would use
  // logits that are summed over a part of the width only.
  const std::string why =
      rules.why_not({{axis("t"), Partition::group}, {axis("h"), Partition::stream}, {axis("v"), Partition::stream}});
  CHECK(why.find("needs it complete") != std::string::npos);
  CHECK(rules.why_not({{axis("t"), Partition::group}, {axis("v"), Partition::stream}, {axis("h"), Partition::stream}})
            .empty());
}

TEST_CASE("no ranked schedule moves less than the compulsory bytes, whatever the mask") {
  std::mt19937_64 random(20261122);
  std::uniform_int_distribution<std::int64_t> width(1, 4096), length(1, 12);
  const Diagram attention = find_diagram("attention", bundled_models());
  int judged = 0;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t keys = 256 * length(random), window = width(random) % keys + 1;
    Mask mask;
    mask.kind = MaskKind::window, mask.count = window;
    if (i % 4 == 3) mask.kind = MaskKind::causal;
    const Derivation derivation = derive({.diagram = attention,
                                          .workload = {1, 1, 1, keys, keys, 64, 64},
                                          .mask = mask,
                                          .memory = 30000,
                                          .most_nests = 2000},
                                         bundled_models());
    for (const RankedFusion& fusion : derivation.ranked) {
      CAPTURE(keys);
      CAPTURE(window);
      CHECK(fusion.traffic >= derivation.compulsory * (1 - 1e-9));
      for (const RankedKernel& kernel : fusion.kernels) {
        CHECK(kernel.best.traffic > 0);
        ++judged;
      }
    }
  }
  CHECK(judged > 40);
}

TEST_CASE("nor where the mask hides whole keys or queries, or is a block pattern") {
  const auto check = [](const std::string& name, const Workload& workload, const Mask& mask) {
    CAPTURE(name);
    CAPTURE(mask.text);
    CAPTURE(workload.q_len);
    const Derivation derivation = derive({.diagram = find_diagram(name, bundled_models()),
                                          .workload = workload,
                                          .mask = mask,
                                          .memory = 30000,
                                          .most_nests = 300,
                                          .ranked = 3},
                                         bundled_models() + "/none");
    CHECK(join(derivation.errors, "; ") == "");
    REQUIRE(!derivation.ranked.empty());
    CHECK(derivation.ranked.front().traffic >= derivation.compulsory * (1 - 1e-6));
    return derivation.compulsory;
  };
  for (const char* name : {"attention", "mla_absorbed"}) {
    check(name, {1, 1, 1, 1, 4096, 64, 64}, *parse_mask("window:128"));  // decoding
    check(name, {1, 1, 1, 64, 4096, 64, 64}, *parse_mask("window:128"));
    check(name, {1, 1, 1, 4096, 1024, 64, 64}, *parse_mask("causal"));
  }
  // One query sees 128 keys: Q and O of 64 values, L of 1, and K and V.
  CHECK(check("attention", {1, 1, 1, 1, 4096, 64, 64}, *parse_mask("window:128")) == 2 * 64 + 1 + 2 * 128 * 64);
  std::mt19937_64 random(20261123);
  for (int i = 0; i < 6; ++i) {
    auto blocks = std::make_shared<Mask::Blocks>(Mask::Blocks{.block_q = 64, .block_kv = 32 << (i % 3), .live = {}});
    blocks->live.assign(static_cast<std::size_t>(1024 / blocks->block_q), {});
    for (std::size_t row = 0; row < blocks->live.size(); ++row)
      for (std::int64_t key = 0; key < 1024 / blocks->block_kv;
           ++key)  // the first is a checkerboard, others are random
        blocks->live[row].push_back(i == 0 ? (row + static_cast<std::size_t>(key)) % 2 == 0 : random() % 6 == 0);
    const Mask mask{.kind = MaskKind::blocks, .count = 0, .blocks = blocks, .text = "pattern"};
    check(i % 2 == 0 ? "mla_absorbed" : "attention", {1, 2, 1, 1024, 1024, 64, 64}, mask);
  }
}

TEST_CASE("nor of a gradient whose keys the window hides, nor where rows see nothing but a prefix") {
  const auto check = [](const char* name, std::int64_t q_len, std::int64_t kv_len, const char* mask) {
    CAPTURE(name);
    CAPTURE(mask);
    const Derivation derivation = derive({.diagram = find_diagram(name, bundled_models()),
                                          .workload = {1, 1, 1, q_len, kv_len, 64, 64},
                                          .mask = *parse_mask(mask),
                                          .ranked = 3},
                                         bundled_models());
    CHECK(join(derivation.errors, "; ") == "");
    REQUIRE(!derivation.ranked.empty());
    CHECK(derivation.ranked.front().traffic >= derivation.compulsory * (1 - 1e-6));
    for (const NamedDerivation& named : derivation.named)
      if (named.feasible) CHECK(named.traffic >= derivation.compulsory * (1 - 1e-6));
    return derivation.ranked.front().traffic / derivation.compulsory;
  };
  // The gradients of the keys that are seen stay on the chip.
  CHECK(check("attention_backward", 1, 1531, "window:757") < 1.01);
  check("attention_backward_rowsum", 2, 4096, "window:33");
  check("attention_backward", 1, 300, "window:1");
  check("attention_backward_rowsum", 512, 50, "prefix:3");
  std::mt19937_64 random(20261124);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t q_len = 1 + static_cast<std::int64_t>(random() % (i % 3 == 0 ? 400 : 3)),
                       kv_len = 1 + static_cast<std::int64_t>(random() % 400);
    const std::string mask =
        (i % 4 == 0 ? "prefix:" : "window:") + std::to_string(1 + random() % static_cast<std::uint64_t>(kv_len));
    check(i % 2 == 0 ? "attention_backward" : "attention_backward_rowsum", q_len, kv_len, mask.c_str());
  }
}

TEST_CASE("a block pattern that hides every pair needs nothing, and no number of it is infinite") {
  auto blocks = std::make_shared<Mask::Blocks>(Mask::Blocks{.block_q = 16, .block_kv = 16, .live = {}});
  blocks->live.assign(2, {false, false});
  const Mask mask{.kind = MaskKind::blocks, .count = 0, .blocks = blocks, .text = "nothing"};
  for (const char* name : {"attention", "attention_backward"}) {
    const Derivation derivation = derive({.diagram = find_diagram(name, bundled_models()),
                                          .workload = {1, 1, 1, 32, 32, 8, 8},
                                          .mask = mask,
                                          .ranked = 3},
                                         bundled_models());
    CAPTURE(name);
    CHECK(join(derivation.errors, "; ") == "");
    CHECK(derivation.compulsory == 0);
    REQUIRE(!derivation.ranked.empty());
    CHECK(derivation.ranked.front().traffic == 0);
    for (const RankedFusion& fusion : derivation.ranked) CHECK(fusion.traffic >= 0);
    for (const NamedDerivation& named : derivation.named) CHECK(std::isfinite(named.traffic));
    for (const PageTable& table : ranking_section(derivation).tables)
      for (const auto& row : table.rows) CHECK(row.at(1) == "-");
  }
}

TEST_CASE("a mask applies to the sizes that a diagram defines itself") {
  Diagram own = find_diagram("attention", bundled_models());
  const Workload sizes{1, 1, 1, 96, 700, 64, 64};
  for (Axis& axis : own.axes) {
    if (axis.extent == Extent::q_len || axis.extent == Extent::kv_len)
      axis.length = axis.size_in(sizes), axis.extent.reset(), axis.size = "own_" + axis.name;
  }
  for (const char* mask : {"causal", "window:40", "prefix:500"}) {
    DeriveRequest request{.diagram = find_diagram("attention", bundled_models()),
                          .workload = sizes,
                          .mask = *parse_mask(mask),
                          .memory = 20000,
                          .ranked = 2};
    const Derivation with = derive(request, bundled_models() + "/none");
    request.diagram = own, request.workload.q_len = 5, request.workload.kv_len = 3;
    const Derivation alone = derive(request, bundled_models() + "/none");
    CAPTURE(mask);
    CHECK(join(alone.errors, "; ") == "");
    CHECK(alone.compulsory == with.compulsory);
    REQUIRE(alone.ranked.size() == with.ranked.size());
    for (std::size_t i = 0; i < with.ranked.size(); ++i) CHECK(alone.ranked[i].traffic == with.ranked[i].traffic);
  }
}

}  // namespace tilescope::impossible_schedules_test
