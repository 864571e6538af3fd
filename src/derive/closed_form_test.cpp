// Tests on random ragged shapes that the walk, the symbolic counts and closed forms written by hand agree: values moved
// in each direction. The closed forms follow from the algorithms of the papers: FlashAttention (arXiv 2205.14135,
// algorithms 1 and 4, theorem 2), FlashAttention-2 (arXiv 2307.08691, section 3.1), Napkin (arXiv 2412.03317, section
// 3); each was derived from the loops of its algorithm, without the transfer rule.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <optional>

#include "derive/kernel_problem.h"
#include "derive/random/random_points.h"
#include "derive/symbolic/counted.h"
#include "derive/test_models.h"

namespace tilescope::closed_form_test {
namespace {

using Int = std::int64_t;
using Counts = std::vector<Int>;  // one per island

// The sizes of a case, named as in the formulas. Tiles: B_r rows, B_c keys, g_r heads that share a block's keys.
struct Point {
  Int b, k, r, q, x, d, e, g_r, B_r, B_c;
  std::vector<Int> tiles{};
  Mask mask{};
  Diagram diagram{};
  Schedule schedule{};

  Int kv_heads() const { return b * k; }
  Int heads() const { return b * k * r; }
  Int head_blocks() const { return b * k * ceil_div(r, g_r); }
  Int rows() const { return g_r * B_r; }  // rows of a block's tile
  Int T_r() const { return ceil_div(q, B_r); }
  Int T_c() const { return ceil_div(x, B_c); }
  Int off() const { return x - q; }
  Int size(const char* axis) const { return diagram.axes[index(*diagram.find_axis(axis))].length; }
  Int tile(const char* parameter) const { return tiles[static_cast<std::size_t>(schedule.find_parameter(parameter))]; }
  bool is(MaskKind kind) const { return mask.kind == kind; }

  // Number of keys that one head streams: keys of live tiles, summed over query tiles. Windows and causal masks need
  // x >= q.
  Int streamed_keys() const {
    Int sum = 0;
    for (Int i = 0; i < T_r(); ++i) {
      const Int hi = std::min((i + 1) * B_r, q) - 1 + off(), end = std::min((hi / B_c + 1) * B_c, x);
      const Int t0 = is(MaskKind::window) ? std::max<Int>(0, i * B_r + off() - mask.count + 1) / B_c : 0;
      for (Int j = 0; is(MaskKind::blocks) && j < T_c(); ++j) sum += live(i, j) ? std::min(B_c, x - j * B_c) : 0;
      if (!is(MaskKind::blocks)) sum += is(MaskKind::none) ? x : end - t0 * B_c;
    }
    return sum;
  }
  bool live(Int i, Int j) const { return mask.blocks->live[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; }
  // Rows that see a key. A block pattern may have query blocks without a live tile; their rows are not moved.
  Int live_rows() const {
    if (!is(MaskKind::blocks)) return q;
    Int rows = 0;
    for (Int i = 0; i < T_r(); ++i) {
      bool any = false;
      for (Int j = 0; j < T_c(); ++j) any = any || live(i, j);
      rows += any ? std::min(B_r, q - i * B_r) : 0;
    }
    return rows;
  }
  // Rows of live tiles, summed over key tiles: T_c q without a mask. `stay`: a row tile that ends one sweep and begins
  // the next one stays on chip (two streams of one block).
  Int swept_rows(bool stay) const {
    Int sum = 0;
    for (Int j = 0; j < T_c(); ++j) {
      const Int first = is(MaskKind::causal) ? std::max<Int>(0, j * B_c - off()) / B_r : 0;
      sum += q - first * B_r;
      if (stay && j > 0 && first == T_r() - 1) sum -= q - (T_r() - 1) * B_r;
    }
    return sum;
  }
};

// The closed forms of one schedule on one diagram: the traffic of each island and, if it is published, the footprint of
// the first island.
struct Closed {
  std::string subject, schedule, diagram;
  std::vector<MaskKind> masks;
  std::function<Counts(const Point&)> counts;
  std::function<void(Schedule&)> change = [](Schedule&) {};
  std::function<void(Workload&)> shape = [](Workload&) {};
  std::function<Int(const Point&)> footprint = {};
};

Mask mask_of(MaskKind kind, RandomPoints& random, const Workload& workload, Int B_r, Int B_c) {
  switch (kind) {
    case MaskKind::causal:
      return *parse_mask("causal");
    case MaskKind::window:
      return random.window(12);
    case MaskKind::blocks:
      return random.blocks(workload, B_r, B_c);
    default:
      return {};
  }
}

int check_closed(const Closed& closed, RandomPoints& random, int cases) {
  Schedule schedule = find_schedule(closed.schedule, models(), closed.diagram);
  closed.change(schedule);
  const Counted plain(schedule, false), masked(schedule, true);
  CAPTURE(closed.subject);
  for (int i = 0; i < cases; ++i) {
    Workload workload = random.workload();
    closed.shape(workload);
    random.sizes(schedule.diagram);
    std::vector<Int> tiles =
        random.tiles(schedule.parameters.size(), i % 8 == 0 ? 24 : 9);  // large tiles: loops of one trip
    const auto tile = [&](const char* name) {
      const int p = schedule.find_parameter(name);
      return p < 0 ? 1 : tiles[static_cast<std::size_t>(p)];
    };
    const MaskKind kind =
        closed.masks[static_cast<std::size_t>(random.between(0, static_cast<Int>(closed.masks.size()) - 1))];
    if (kind == MaskKind::causal || kind == MaskKind::window)
      workload.kv_len = std::max(workload.kv_len, workload.q_len);
    const Mask mask = mask_of(kind, random, workload, tile("q"), tile("kv"));
    const Point at{workload.batch,
                   workload.heads_kv,
                   workload.heads_q / workload.heads_kv,
                   workload.q_len,
                   workload.kv_len,
                   workload.d_qk,
                   workload.d_v,
                   tile("pack"),
                   tile("q"),
                   tile("kv"),
                   tiles,
                   mask,
                   schedule.diagram,
                   schedule};
    CAPTURE(i);
    CAPTURE(mask.text);
    CAPTURE(at.b);
    CAPTURE(at.k);
    CAPTURE(at.r);
    CAPTURE(at.q);
    CAPTURE(at.x);
    CAPTURE(at.g_r);
    CAPTURE(at.B_r);
    CAPTURE(at.B_c);
    const Counted& counted = kind == MaskKind::none ? plain : masked;
    const std::vector<Int> outputs = counted.at(schedule, workload, mask, tiles);
    const Counts expected = closed.counts(at);
    REQUIRE(expected.size() == schedule.islands.size());
    for (std::size_t n = 0; n < expected.size(); ++n) {
      CAPTURE(schedule.islands[n].name);
      CHECK(walked_traffic(schedule, schedule.islands[n], workload, mask, tiles) == expected[n]);
      CHECK(counted.traffic(outputs, static_cast<int>(n)) == expected[n]);
    }
    if (closed.footprint) CHECK(counted.footprint(outputs, 0) == closed.footprint(at));
  }
  return cases;
}

constexpr auto none = MaskKind::none, causal = MaskKind::causal, window = MaskKind::window, blocks = MaskKind::blocks;

// FlashAttention-2 on the rows of a block: Q is read once, O and L are written once, K and V are read once per block.
Counts flash2(const Point& p, Int width_q, Int width_kv, Int width_o) {
  return {p.heads() * p.live_rows() * (width_q + width_o + 1) + p.head_blocks() * p.streamed_keys() * width_kv};
}
Counts flash2(const Point& p) { return flash2(p, p.d, p.d + p.e, p.e); }

void as_it_is(Schedule&) {}
void any(Workload&) {}
void one_latent(Workload& workload) { workload.heads_kv = 1; }
void unfolded(Schedule& schedule) {
  for (Array& array : schedule.diagram.arrays) array.alias_of.reset();
}

// dQ of the one-kernel backward pass. `by` is its accumulation. Its rows are loaded and stored T_c times.
void accumulate(Schedule& schedule, Accumulate by, bool zeroed) {
  for (Stored& stored : schedule.islands[1].stored_as) stored.by = by, stored.zeroed = zeroed;
}
Int backward_main(const Point& p, Int dq_moves) {
  return p.kv_heads() * 2 * p.x * (p.d + p.e) + p.heads() * (p.swept_rows(false) * (p.d + p.e + 2) + dq_moves * p.d);
}
Int backward_delta(const Point& p) { return p.heads() * p.q * (2 * p.e + 1); }

// [a:G][c:G][b:P], [b:S] within a part if `streamed`, and the kernel that adds the parts.
Schedule split_k(const Diagram& diagram, bool streamed) {
  const Primitives primitives = expand(primitive_diagram(expand(diagram)));
  const auto axis = [&](const char* name) { return *diagram.find_axis(name); };
  AxisLoops loops{{axis("a"), Partition::group}, {axis("b"), Partition::group, true}, {axis("c"), Partition::group}};
  if (streamed) loops.push_back({axis("b"), Partition::stream});
  return kernel_schedule(primitives, whole_kernel(primitives), loops);
}

std::vector<Closed> forward_forms() {
  std::vector<Closed> all;
  all.push_back({"matmul",
                 "matmul",
                 "",
                 {none},
                 [](const Point& p) {
                   const Int a = p.size("a"), b = p.size("b"), c = p.size("c");
                   return Counts{a * b * ceil_div(c, p.tile("c")) + b * c * ceil_div(a, p.tile("a")) + a * c};
                 },
                 as_it_is,
                 any,
                 [](const Point& p) { return p.tile("a") * p.tile("c") + p.tile("b") * (p.tile("a") + p.tile("c")); }});
  for (const bool streamed : {false, true})
    all.push_back({streamed ? "split-K, each part streamed" : "split-K, each part in one step",
                   "matmul",
                   "",
                   {none},
                   [](const Point& p) {
                     const Int a = p.size("a"), b = p.size("b"), c = p.size("c"), z = ceil_div(b, p.tile("b_part"));
                     return Counts{a * b * ceil_div(c, p.tile("c")) + b * c * ceil_div(a, p.tile("a")) + z * a * c,
                                   z * a * c + a * c};
                   },
                   [streamed](Schedule& s) { s = split_k(s.diagram, streamed); }});
  all.push_back({"standard attention: its three kernels move S and P through memory",
                 "standard",
                 "",
                 {none, causal, blocks},
                 [](const Point& p) {
                   const Int scores = p.heads() * p.q * p.x, blocks_of_rows = p.head_blocks() * p.T_r();
                   return Counts{p.heads() * p.q * p.d * p.T_c() + blocks_of_rows * p.x * p.d + scores, 2 * scores,
                                 scores + blocks_of_rows * p.x * p.e + p.heads() * p.q * p.e};
                 }});
  const auto flash1 = [](const Point& p) { return p.head_blocks() * p.x * (p.d + p.e); };
  all.push_back(
      {"FlashAttention, the first visit storing (causal: bottom-right aligned)",
       "flash1",
       "",
       {none, causal},
       [flash1](const Point& p) {
         const Int rows = p.swept_rows(true);
         return Counts{flash1(p) + p.heads() * (rows * p.d + (2 * rows - p.q) * (p.e + 2))};
       },
       as_it_is,
       any,
       [](const Point& p) { return p.B_c * (p.d + p.e) + p.rows() * (p.d + p.e) + p.rows() * p.B_c + 2 * p.rows(); }});
  all.push_back({"FlashAttention, algorithm 1 as printed", "flash1-printed", "", {none}, [flash1](const Point& p) {
                   const Int rows = p.swept_rows(true);
                   return Counts{flash1(p) + p.heads() * (p.q * (p.e + 2) + rows * (p.d + 2 * p.e + 4))};
                 }});
  all.push_back({"FlashAttention-2",
                 "flash2",
                 "",
                 {none, causal, window, blocks},
                 [](const Point& p) { return flash2(p); },
                 as_it_is,
                 any,
                 [](const Point& p) {
                   return p.rows() * (p.d + p.e + 2) + p.rows() * p.B_c +
                          p.B_c * std::max(p.d, p.e);  // K and V share a slot
                 }});
  all.push_back({"several KV heads a block save nothing",
                 "flash2",
                 "",
                 {none},
                 [](const Point& p) { return flash2(p); },
                 [](Schedule& s) { s.islands[0].loops[1].tile.literal = 2; }});
  all.push_back({"MLA absorbed: the values are on the chip when the latent is",
                 "flash2",
                 "mla_absorbed",
                 {none, causal},
                 [](const Point& p) { return flash2(p, p.d, p.d, p.e); },
                 as_it_is,
                 one_latent});
  all.push_back({"MLA absorbed without the alias",
                 "flash2",
                 "mla_absorbed",
                 {none, causal},
                 [](const Point& p) { return flash2(p); },
                 unfolded,
                 one_latent});
  all.push_back({"MLA expanded: the shared rotary key is read once a block all the same",
                 "flash2",
                 "mla_expanded",
                 {none, causal},
                 [](const Point& p) {
                   const Int n = p.size("n"), o = p.size("o");
                   return flash2(p, n + o, n + o + p.e, p.e);
                 }});
  all.push_back({"paged: the block table once a block", "flash2", "attention_paged", {none}, [](const Point& p) {
                   return Counts{flash2(p).front() + p.head_blocks() * p.T_r() * p.size("p")};
                 }});
  all.push_back({"split-KV: partial results of Z parts, and their merge", "split-kv", "", {none}, [](const Point& p) {
                   const Int z = ceil_div(p.x, ceil_div(p.x, p.tile("splits"))), rows = p.heads() * p.q;
                   return Counts{z * rows * p.d + p.head_blocks() * p.T_r() * p.x * (p.d + p.e) + z * rows * (p.e + 1),
                                 z * rows * (p.e + 1) + rows * p.e};
                 }});
  return all;
}

std::vector<Closed> backward_forms() {
  std::vector<Closed> all;
  const auto one_kernel = [&](const std::string& subject, Accumulate by, bool zeroed,
                              const std::function<Int(const Point&)>& dq_moves) {
    all.push_back({"backward in one kernel, dQ " + subject,
                   "flash2-backward",
                   "",
                   {none, causal},
                   [dq_moves](const Point& p) {
                     return Counts{backward_delta(p), backward_main(p, dq_moves(p)), 2 * p.heads() * p.q * p.d};
                   },
                   [by, zeroed](Schedule& s) { accumulate(s, by, zeroed); }});
  };
  one_kernel("read, added to and written back", Accumulate::rewriting, false,
             [](const Point& p) { return 2 * p.swept_rows(false) - p.q; });
  one_kernel("by atomics onto zeros", Accumulate::atomic, true,
             [](const Point& p) { return 2 * p.swept_rows(false) + p.q; });
  one_kernel("by reductions whose addend alone is sent", Accumulate::reduction, true,
             [](const Point& p) { return p.swept_rows(false) + p.q; });
  all.push_back({"backward in two kernels", "flash2-backward-split", "", {none, causal}, [](const Point& p) {
                   const Int dkv =
                       p.kv_heads() * 2 * p.x * (p.d + p.e) + p.heads() * p.swept_rows(false) * (p.d + p.e + 2);
                   const Int dq = p.heads() * (p.q * (2 * p.d + p.e + 2) + p.streamed_keys() * (p.d + p.e));
                   return Counts{backward_delta(p), dkv, dq};
                 }});
  all.push_back({"FlashAttention's backward, algorithm 4", "flash1-backward", "", {none, causal}, [](const Point& p) {
                   const Int rows = p.swept_rows(p.r == 1);
                   return Counts{p.kv_heads() * 2 * p.x * (p.d + p.e) +
                                 p.heads() * (rows * (p.d + 2 * p.e + 2) + (2 * rows - p.q) * p.d)};
                 }});
  return all;
}

}  // namespace

TEST_CASE("forward traffic is the closed form of its algorithm") {
  MESSAGE("seed " << test_seed());
  RandomPoints random(test_seed());
  int cases = 0;
  for (const Closed& closed : forward_forms())
    cases += check_closed(closed, random, closed.masks.size() > 2 ? 500 : 200);
  MESSAGE(cases << " cases");
}

TEST_CASE("backward traffic is the closed form of its algorithm") {
  RandomPoints random(test_seed() + 1);
  int cases = 0;
  for (const Closed& closed : backward_forms()) cases += check_closed(closed, random, 250);
  MESSAGE(cases << " cases");
}

}  // namespace tilescope::closed_form_test
