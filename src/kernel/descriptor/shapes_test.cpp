#include "kernel/descriptor/shapes.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/error.h"

namespace descriptor_shapes_test {

using namespace tilescope;

namespace {

NamedSizes some_sizes() {
  return {{"batch", 2},    {"heads_q", 32},   {"heads_kv", 8},     {"q_len", 1},
          {"kv_len", 192}, {"head_dim", 128}, {"v_head_dim", 128}, {"multiprocessors", 132}};
}

bool holds(const char* text) { return Condition(text, size_names()).holds(some_sizes()); }

NamedSizes call(double batch, double heads_q, double heads_kv, double q_len, double kv_len, double head_dim) {
  return {{"batch", batch}, {"heads_q", heads_q}, {"heads_kv", heads_kv},
          {"q_len", q_len}, {"kv_len", kv_len},   {"head_dim", head_dim}};
}

}  // namespace

TEST_CASE("a condition compares expressions of sizes, and binds tighter than or") {
  CHECK(holds("q_len == 1"));
  CHECK_FALSE(holds("q_len > 1"));
  CHECK(holds("q_len != 2"));
  CHECK(holds("kv_len % 64 == 0"));
  CHECK_FALSE(holds("kv_len % 128 == 0"));
  CHECK(holds("heads_q / heads_kv >= 4"));
  CHECK(holds("batch * heads_q <= 64"));
  CHECK_FALSE(holds("batch * heads_q < 64"));
  CHECK(holds("q_len == 1 or q_len > 1 and q_len < 1"));
  CHECK_FALSE(holds("q_len > 1 or heads_q == heads_kv"));
  CHECK(holds("q_len > 1 or heads_q != heads_kv"));
  CHECK(Condition("q_len > 1 or heads_q == heads_kv", size_names()).values_in(some_sizes()) ==
        "q_len 1, heads_q 32, heads_kv 8");
}

TEST_CASE("a text that is no condition is refused with what is wrong") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      Condition(text, size_names());
    } catch (const std::invalid_argument& finding) {
      return finding.what();
    }
    return "accepted";
  };
  CHECK(refusal("q_len").find("expected a comparison") != std::string::npos);
  CHECK(refusal("q_lem > 1").find("did you mean 'q_len'") != std::string::npos);
  CHECK(refusal("q_len > (1").find("')'") != std::string::npos);
  CHECK(refusal("splits == 1").find("'splits' is no size") != std::string::npos);
  CHECK(refusal("size(x) > 1").find("no axes") != std::string::npos);
  CHECK(refusal("q_len > 1 or") != "accepted");
  for (const char* by_zero : {"q_len / 0 > 1", "q_len % 0 == 0", "q_len > 1 or 2 > kv_len % (3 - 3)",
                              "1 + q_len / (batch * 2 / (2 - 2)) > 0"})
    CHECK(refusal(by_zero).find("divides by zero") != std::string::npos);
  CHECK(refusal("q_len > log(0)").find("no finite number") != std::string::npos);
}

TEST_CASE("a condition whose sides are no finite numbers is an error at that point, for / and % alike") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      return holds(text) ? "holds" : "does not hold";
    } catch (const InputError& finding) {
      return finding.what();
    }
  };
  for (const char* undefined : {"kv_len / (batch - 2) > 100", "kv_len / (batch - 2) < 100", "kv_len % (batch - 2) == 0",
                                "kv_len % (batch - 2) != 0"})
    CHECK(refusal(undefined).find("is no finite number at batch 2, kv_len 192") != std::string::npos);
  CHECK(refusal("kv_len % (batch - 2) == 0").find("'kv_len % (batch - 2)'") != std::string::npos);
  CHECK(refusal("kv_len % (batch - 1) == 0") == "holds");
  CHECK(refusal("batch > 2 and kv_len / (batch - 2) > 100") == "does not hold");
}

TEST_CASE("the host splits the keys as FlashAttention-2 did in recorded launches") {
  const HostSplits host{.rows = 64,
                        .keys = {{64, 256}, {128, 128}, {256, 64}},
                        .blocks_per_sm = 2,
                        .most = 128,
                        .full = 0.8,
                        .near_best = 0.85,
                        .packs_one_query = true};
  const auto splits = [&](const NamedSizes& sizes) { return chosen_splits(host, 132, sizes); };
  CHECK(splits(call(4, 32, 8, 1, 8192, 128)) == 7);
  CHECK(splits(call(4, 16, 16, 1, 8192, 64)) == 4);
  CHECK(splits(call(8, 16, 16, 1, 4096, 128)) == 2);
  CHECK(splits(call(16, 16, 16, 1, 4096, 128)) == 1);  // 256 blocks nearly fill 264 places
  CHECK(splits(call(1, 16, 16, 64, 64, 128)) == 1);    // one tile of keys cannot be split
  CHECK(splits(call(1, 16, 16, 128, 128, 256)) == 2);
  CHECK(splits(call(64, 32, 8, 1, 8192, 128)) == 1);  // 512 blocks of packed heads
}

}  // namespace descriptor_shapes_test
