// Theorem 3: the paper's saving factors from the shipped profiles, and counts compared with blocks that load element by
// element.
#include "boundaries/clusters.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/checked.h"
#include "base/test_seed.h"
#include "derive/test_models.h"

namespace tilescope::clusters_test {
namespace {

DeriveRequest request_for(const std::string& diagram, const Workload& workload) {
  DeriveRequest request{.diagram = find_diagram(diagram, models()), .source = diagram};
  request.workload = workload;
  return request;
}

BoundSchedule named_schedule(const DeriveRequest& request, const std::string& name) {
  const Derivation derivation = derive(request, models());
  for (const NamedDerivation& named : derivation.named)
    if (named.name == name) return bound_schedule(derivation, &named);
  throw std::out_of_range(name);
}

std::vector<ClusterRow> rows_of(const std::string& diagram, const std::string& gpu) {
  const DeriveRequest request = request_for(diagram, {1, 1, 1, 8192, 8192, 128, 128});
  const std::vector<std::int64_t> sizes{2, 4, 16};
  return cluster_rows(bound_schedule(derive(request, models()), nullptr),
                      find_profile(gpu, std::string(TILESCOPE_SOURCE_DIR) + "/hardware"), sizes, 2);
}

double factor(const std::vector<ClusterRow>& rows, std::int64_t size) {
  for (const ClusterRow& row : rows)
    if (row.size == size && row.parent == "hbm") return row.factor.value();
  throw std::out_of_range("size");
}

using Interval = std::pair<std::int64_t, std::int64_t>;

// The blocks of an axis, clipped.
std::vector<Interval> blocks_of(std::int64_t size, std::int64_t tile) {
  std::vector<Interval> blocks;
  for (std::int64_t at = 0; at < size; at += tile) blocks.emplace_back(at, std::min(size, at + tile));
  return blocks;
}

// What blocks load of one array when each family fetches an element once and its members receive it from each other.
struct Fetched {
  std::int64_t all = 0, once = 0;
};

// Families are boxes of n_i x n_j blocks. `rows` and `columns` are the elements of the array that a block (i, j) needs.
template <class Rows, class Columns>
Fetched fetched(std::size_t blocks_i, std::size_t blocks_j, std::size_t n_i, std::size_t n_j, const Rows& rows,
                const Columns& columns) {
  Fetched sum;
  for (std::size_t i = 0; i < blocks_i; i += n_i)
    for (std::size_t j = 0; j < blocks_j; j += n_j) {
      std::set<Interval> family;
      for (std::size_t bi = i; bi < std::min(blocks_i, i + n_i); ++bi)
        for (std::size_t bj = j; bj < std::min(blocks_j, j + n_j); ++bj)
          for (std::int64_t r = rows(bi, bj).first; r < rows(bi, bj).second; ++r)
            for (std::int64_t c = columns(bi, bj).first; c < columns(bi, bj).second; ++c)
              family.insert({r, c}), ++sum.all;
      sum.once += static_cast<std::int64_t>(family.size());
    }
  return sum;
}

std::size_t position(const BoundKernel& kernel, const std::string& tile) {
  for (std::size_t i = 0; i < kernel.problem.tiles.size(); ++i)
    if (kernel.problem.symbolic.symbols[kernel.problem.tiles[i]].text == tile) return i;
  throw std::out_of_range(tile);
}

}  // namespace

// Appendix A.2.3, with memory at 2.04 TB/s and siblings at 3.27 and 2.65: the H100 PCIe has these rates.
TEST_CASE("on the H100 PCIe clusters of two save most for attention and clusters of four for a matmul") {
  const auto attention = rows_of("attention", "h100_pcie"), matmul = rows_of("matmul", "h100_pcie");
  CHECK(factor(attention, 2) == doctest::Approx(0.0922).epsilon(3e-3));
  CHECK(factor(attention, 4) == doctest::Approx(0.0846).epsilon(3e-3));
  CHECK(factor(matmul, 2) == doctest::Approx(0.0540).epsilon(3e-3));
  CHECK(factor(matmul, 4) == doctest::Approx(0.0564).epsilon(3e-3));
}

TEST_CASE("an exchange slower than the parent is a loss, and an unknown rate gives no time") {
  int slower = 0, unknown = 0;
  for (const ClusterRow& row : rows_of("attention", "h100_pcie")) {
    CAPTURE(row.size);
    CAPTURE(row.parent);
    CHECK(row.counted.parent > 0);
    CHECK(row.counted.siblings > 0);
    if (!row.sibling_rate) {
      CHECK(!row.seconds);
      CHECK(!row.factor);
      ++unknown;
    } else if (row.sibling_rate->bytes_per_second < row.parent_rate.bytes_per_second) {
      CHECK(*row.seconds > row.alone_seconds);
      CHECK(*row.factor < 0);
      ++slower;
    } else CHECK(*row.seconds < row.alone_seconds);
  }
  CHECK(slower > 0);
  CHECK(unknown > 0);
}

TEST_CASE("attention in clusters: counted bytes equal blocks that load element by element") {
  MESSAGE("seed " << test_seed());
  std::mt19937 engine(test_seed());
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  const std::int64_t d = 3, e = 2;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t q = between(5, 60), x = between(5, 20);
    const DeriveRequest request = request_for("attention", {1, 1, 1, q, x, d, e});
    const BoundSchedule schedule = named_schedule(request, "flash2");
    const BoundKernel& kernel = schedule.kernels.front();
    std::vector<std::int64_t> tiles(kernel.problem.tiles.size(), 2);
    const std::int64_t tile = tiles[position(kernel, "tile.q")] = between(2, 9), size = between(1, 5);
    const std::size_t blocks = blocks_of(q, tile).size();
    const auto keys = [&](std::size_t, std::size_t) { return Interval(0, x); };
    const auto width = [&](std::size_t, std::size_t) { return Interval(0, d + e); };
    const Fetched found = fetched(blocks, 1, static_cast<std::size_t>(size), 1, keys, width);
    const auto counted = count_cluster(kernel, request, tiles, size);
    CAPTURE(q);
    CAPTURE(x);
    CAPTURE(tile);
    CAPTURE(size);
    REQUIRE(counted);
    CHECK(counted->bytes.siblings == static_cast<double>(found.all - found.once));
    CHECK(counted->bytes.parent == static_cast<double>(found.once + q * (d + e + 1)));  // Q, O and L: each row once
  }
}

TEST_CASE("a matmul in clusters: the best box of blocks, and its bytes, equal a count element by element") {
  MESSAGE("seed " << test_seed());
  std::mt19937 engine(test_seed());
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  for (int i = 0; i < 4; ++i) {
    DeriveRequest request = request_for("matmul", {});
    std::map<std::string, std::int64_t> sizes{{"a", between(6, 30)}, {"b", between(2, 6)}, {"c", between(6, 30)}};
    for (const auto& [name, size] : sizes) set_size(request.diagram, name, size);
    const BoundSchedule schedule = named_schedule(request, "matmul");
    const BoundKernel& kernel = schedule.kernels.front();
    std::vector<std::int64_t> tiles(kernel.problem.tiles.size(), 1);
    const std::int64_t g_a = tiles[position(kernel, "tile.a")] = between(2, 5),
                       g_c = tiles[position(kernel, "tile.c")] = between(2, 5), n = between(1, 2) == 1 ? 4 : 6;
    const auto along_a = blocks_of(sizes["a"], g_a), along_c = blocks_of(sizes["c"], g_c);
    const Interval whole_b(0, sizes["b"]);
    const auto of_a = [&](std::size_t at, std::size_t) { return along_a[at]; };
    const auto of_c = [&](std::size_t, std::size_t at) { return along_c[at]; };
    const auto of_b = [&](std::size_t, std::size_t) { return whole_b; };
    std::int64_t least = -1, all = 0;
    for (std::int64_t n_a = 1; n_a <= n; ++n_a) {
      if (n % n_a != 0) continue;
      const auto box_a = static_cast<std::size_t>(n_a), box_c = static_cast<std::size_t>(n / n_a);
      const Fetched a = fetched(along_a.size(), along_c.size(), box_a, box_c, of_a, of_b),
                    b = fetched(along_a.size(), along_c.size(), box_a, box_c, of_b, of_c);
      all = a.all + b.all;
      if (least < 0 || a.once + b.once < least) least = a.once + b.once;
    }
    const auto counted = count_cluster(kernel, request, tiles, n);
    CAPTURE(n);
    CAPTURE(g_a);
    CAPTURE(g_c);
    REQUIRE(counted);
    CHECK(counted->bytes.parent == static_cast<double>(least + sizes["a"] * sizes["c"]));
    CHECK(counted->bytes.siblings == static_cast<double>(all - least));
  }
}

}  // namespace tilescope::clusters_test
