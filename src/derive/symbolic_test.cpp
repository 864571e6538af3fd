// Symbolic counts against the walk that runs the nest tile by tile, on random ragged shapes.
#include "derive/symbolic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "base/error.h"
#include "cost/walk.h"

namespace tilescope {
namespace {

std::string models() { return std::string(TILESCOPE_SOURCE_DIR) + "/models"; }

unsigned seed() {
  const char* wanted = std::getenv("TILESCOPE_SEED");
  if (!wanted) return 20261121;
  return std::string(wanted) == "random" ? std::random_device{}() : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
}

class RandomPoint {
 public:
  explicit RandomPoint(unsigned value) : engine_(value) {}
  std::int64_t between(std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(engine_); }

  void sizes(Diagram& diagram) {
    for (Axis& axis : diagram.axes)
      if (!axis.extent && !axis.chunks_of) axis.length = between(1, 9);
  }
  Workload workload() {
    const std::int64_t heads_kv = between(1, 3);
    return {between(1, 2), heads_kv * between(1, 3), heads_kv, between(1, 20), between(1, 20), between(1, 4), between(1, 4)};
  }
  Mask mask(const Workload& workload) {
    switch (between(0, 3)) {
      case 1: return *parse_mask("causal");
      case 2: return *parse_mask("window:" + std::to_string(between(1, 12)));
      case 3: return blocks(workload);
      default: return {};
    }
  }

 private:
  Mask blocks(const Workload& workload) {
    auto pattern = std::make_shared<Mask::Blocks>();
    pattern->block_q = between(1, 9), pattern->block_kv = between(1, 9);
    pattern->live.assign(static_cast<std::size_t>(ceil_div(workload.q_len, pattern->block_q)),
                         std::vector<bool>(static_cast<std::size_t>(ceil_div(workload.kv_len, pattern->block_kv))));
    for (auto& row : pattern->live)
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = between(0, 1) == 1;
    return Mask{.kind = Mask::Kind::blocks, .blocks = pattern, .text = "blocks"};
  }
  std::mt19937 engine_;
};

// What the walk says that an array moves in one direction.
std::int64_t walked(const Schedule& schedule, const Island& island, const Nest& nest, const Walk& walk, ArrayId id, bool store) {
  const ArrayWalk& array = walk.arrays[index(id)];
  if (!schedule.writes(island, id)) return store ? 0 : array.loaded;
  const Stored how = schedule.how_stored(island, id);
  std::int64_t all = 1;
  for (const AxisId axis : schedule.diagram.array(id).axes) all *= nest.size(axis);
  if (store) return array.stored + (how.zeroed ? all : 0);
  return how.zeroed ? (how.by == Accumulate::reduction ? 0 : array.stored) : array.loaded_back;
}

struct Compiled {
  SymbolicSchedule symbolic;
  Program program;
};

Compiled compiled(const Schedule& schedule, bool masked) {
  Compiled result{symbolic(schedule, {.masked = masked}), {}};
  std::vector<Polynomial> all;
  for (const SymbolicTerm& term : result.symbolic.terms) all.push_back(term.values);
  for (const SymbolicWork& work : result.symbolic.work) all.push_back(work.points);
  result.program = compile(result.symbolic.symbols, all);
  return result;
}

// Every term of every island, and the points of every operator. Returns the number of arrays and operators compared.
int compare(const Schedule& schedule, const Compiled& counts, const Workload& workload, const Mask& mask, std::span<const std::int64_t> tiles) {
  std::vector<std::int64_t> inputs, externals, outputs(counts.program.output_count());
  bind_symbols(counts.symbolic, schedule, workload, mask, tiles, inputs, externals);
  counts.program.run(inputs, externals, outputs);
  int compared = 0;
  for (int i = 0; i < static_cast<int>(schedule.islands.size()); ++i) {
    const Island& island = schedule.islands[static_cast<std::size_t>(i)];
    CAPTURE(island.name);
    const Nest nest = bind(schedule, island, workload, mask, tiles);
    const Walk slow = walk(schedule, island, nest);
    for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
      const auto id = static_cast<ArrayId>(static_cast<int>(a));
      if (!schedule.reads(island, id) && !schedule.writes(island, id)) continue;
      CAPTURE(schedule.diagram.arrays[a].name);
      for (const bool store : {false, true}) {
        std::int64_t fast = 0;
        for (std::size_t t = 0; t < counts.symbolic.terms.size(); ++t) {
          const SymbolicTerm& term = counts.symbolic.terms[t];
          if (term.island == i && term.array == id && term.store == store) fast += outputs[t];
        }
        CHECK(fast == walked(schedule, island, nest, slow, id, store));
        ++compared;
      }
    }
    for (std::size_t w = 0; w < counts.symbolic.work.size(); ++w) {
      const SymbolicWork& work = counts.symbolic.work[w];
      if (work.island != i) continue;
      CHECK(outputs[counts.symbolic.terms.size() + w] == slow.points[static_cast<std::size_t>(work.op)]);
      ++compared;
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("symbolic counts equal the walk for every named schedule on every diagram it fits") {
  MESSAGE("seed " << seed());
  RandomPoint random(seed());
  int cases = 0, pairs = 0;
  for (const std::string& name : shipped_names(models() + "/schedules"))
    for (const std::string& diagram : shipped_names(models() + "/diagrams")) {
      std::optional<Schedule> schedule;
      try {
        schedule = find_schedule(name, models(), diagram);
      } catch (const InputError&) {
        continue;  // other axes or operators
      }
      CAPTURE(name); CAPTURE(diagram);
      const Compiled plain = compiled(*schedule, false), masked = compiled(*schedule, true);
      ++pairs;
      for (int i = 0; i < 350; ++i) {
        const Workload workload = random.workload();
        const Mask mask = random.mask(workload);
        random.sizes(schedule->diagram);
        std::array<std::int64_t, max_parameters> tiles{};
        for (std::size_t p = 0; p < schedule->parameters.size(); ++p) tiles[p] = random.between(1, 10);
        CAPTURE(i); CAPTURE(mask.text); CAPTURE(workload.heads_q); CAPTURE(workload.heads_kv); CAPTURE(workload.q_len);
        CAPTURE(workload.kv_len); CAPTURE(tiles[0]); CAPTURE(tiles[1]); CAPTURE(tiles[2]); CAPTURE(tiles[3]);
        compare(*schedule, mask.kind == Mask::Kind::none ? plain : masked, workload, mask, tiles);
        ++cases;
      }
    }
  MESSAGE(cases << " cases of " << pairs << " schedules on diagrams");
  CHECK(pairs >= 20);
}

}  // namespace tilescope
