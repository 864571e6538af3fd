#include "diagram/mask.h"

#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"

namespace tilescope::mask_test {
namespace {

// The keys that a row sees, computed without edges.
bool sees_by_definition(const Mask& mask, std::int64_t own, std::int64_t key) {
  switch (mask.kind) {
    case MaskKind::none:
      return true;
    case MaskKind::causal:
      return key <= own;
    case MaskKind::window:
      return key <= own && key > own - mask.count;
    case MaskKind::prefix:
      return key <= own || key < mask.count;
    case MaskKind::blocks:
      break;
  }
  FAIL("a kind without a definition: ", mask.text);
  return false;
}

TEST_CASE("the edges of every contiguous mask enclose the keys of its definition") {
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) {
    if (!row.keys) continue;
    for (std::int64_t q_len = 1; q_len <= 7; ++q_len)
      for (std::int64_t kv_len = 1; kv_len <= 7; ++kv_len)
        for (std::int64_t count = 1; count <= (row.argument == MaskArgument::count ? 9 : 1); ++count) {
          const Mask mask{.kind = row.value, .count = count, .text = std::string(row.spelling)};
          const KeyInterval keys = mask.keys(q_len, kv_len);
          CAPTURE(mask.text);
          CAPTURE(q_len);
          CAPTURE(kv_len);
          CAPTURE(count);
          for (std::int64_t q = 0; q < q_len; ++q) {
            for (std::int64_t x = 0; x < kv_len; ++x)
              CHECK((x >= keys.begin.at(q) && x < keys.end.at(q)) == sees_by_definition(mask, q + kv_len - q_len, x));
            // Properties that LiveTiles relies on.
            CHECK(keys.begin.at(q) <= keys.end.at(q));
            if (keys.begin.at(q) == keys.end.at(q)) CHECK(keys.end.at(q) == 0);
            if (q > 0) CHECK((keys.begin.at(q) <= keys.end.at(q - 1) || keys.end.at(q - 1) == 0));
          }
        }
  }
}

TEST_CASE("an edge restricted to a range of keys equals the full edge clamped to that range") {
  const Edge edge{.offset = -3, .least = 2, .most = 9};
  for (std::int64_t first = 0; first < 10; ++first)
    for (std::int64_t row = 0; row < 20; ++row)
      CHECK(edge.on(first, 4).at(row) == std::clamp<std::int64_t>(edge.at(row) - first, 0, 4));
}

TEST_CASE("the first row past a key is the first row whose edge is past the key") {
  for (const Edge edge : {Edge{-3, 2, 9}, Edge{4, 0, 6}, Edge{0, 5, 5}})
    for (std::int64_t key = -1; key < 11; ++key) {
      std::int64_t first = 0;
      while (first < 8 && edge.at(first) <= key) ++first;
      CHECK(edge.first_row_past(key, 8) == first);
    }
}

TEST_CASE("every spelling is parsed as its kind of mask") {
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) {
    const std::string name(row.name);
    if (row.argument == MaskArgument::file) {
      CHECK(mask_file(name + ":f") == "f");
      CHECK_FALSE(mask_file(name + ":"));
      CHECK_FALSE(parse_mask(name + ":f"));
      continue;
    }
    const std::string text = row.argument == MaskArgument::count ? name + ":17" : name;
    REQUIRE(parse_mask(text));
    CHECK(parse_mask(text)->kind == row.value);
    CHECK(parse_mask(text)->count == (row.argument == MaskArgument::count ? 17 : 0));
    CHECK(mask_kind(text) == row.value);
    CHECK_FALSE(mask_kind(text + "x"));
  }
  CHECK(mask_spellings().starts_with("none, causal, window:W (W >= 1)"));
}

}  // namespace
}  // namespace tilescope::mask_test
