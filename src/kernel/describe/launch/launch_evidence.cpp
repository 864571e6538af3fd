#include "kernel/describe/launch/launch_evidence.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "kernel/code/sass/kinds.h"

namespace tilescope {
namespace {

using BlockIndex = std::array<std::uint32_t, 3>;

constexpr std::int64_t most_instructions = 30'000'000;  // of all threads together
constexpr std::int64_t most_of_thread = 8'000'000;
constexpr std::uint32_t near_blocks = 16;  // of an axis of the grid, from its start

std::vector<std::int64_t> integers_of(const TracedLaunch& launch, const std::set<std::int64_t>& read,
                                      const std::vector<TensorMapShape>& maps) {
  constexpr std::int64_t map_bytes = 128;
  std::set<std::int64_t> values;
  for (const std::int64_t offset : read) {
    const auto inside = [&](std::int64_t start, std::int64_t bytes) {
      return offset >= start && offset < start + bytes;
    };
    const bool other =
        std::any_of(launch.addresses.begin(), launch.addresses.end(),
                    [&](std::int64_t start) { return inside(start, 8); }) ||
        std::any_of(maps.begin(), maps.end(), [&](const TensorMapShape& map) { return inside(map.offset, map_bytes); });
    if (other || offset + 4 > static_cast<std::int64_t>(launch.parameters.size())) continue;
    std::int32_t value = 0;
    std::memcpy(&value, launch.parameters.data() + offset, sizeof(value));
    if (value > 0) values.insert(value);
  }
  return {values.begin(), values.end()};
}

// Numbers with which integers are compared, and one more and one less of them: `< 1000` may read `> 999`.
std::vector<std::int64_t> compared_numbers(const CodeSection& section) {
  std::set<std::int64_t> numbers;
  for (const Instruction& i : section.instructions) {
    const bool compares = i.opcode == "ISETP" || i.opcode == "UISETP" || i.opcode == "VIMNMX" || i.opcode == "IMNMX";
    if (!compares) continue;
    for (const std::string& operand : i.operands)
      if (const DecodedOperand number = decode_operand(operand);
          number.kind == DecodedOperand::Kind::number && number.number > 1 && number.number < (1U << 30))
        for (const std::int64_t near : {-1, 0, 1}) numbers.insert(std::int64_t{number.number} + near);
  }
  return {numbers.begin(), numbers.end()};
}

// Blocks that differ from the first in one index, and some in all.
std::vector<BlockIndex> sampled_blocks(const std::array<std::uint32_t, 3>& grid) {
  std::set<BlockIndex> blocks{{0, 0, 0}, {grid[0] - 1, grid[1] - 1, grid[2] - 1}};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::uint32_t i = 0; i < grid[axis]; ++i) {
      const bool doubles = (i & (i - 1)) == 0 || i + 1 == grid[axis] || i == grid[axis] / 2;
      if (i >= near_blocks && !doubles) continue;
      BlockIndex block{0, 0, 0};
      block[axis] = i;
      blocks.insert(block);
    }
  for (std::uint32_t k = 1; k <= 8; ++k)
    blocks.insert({grid[0] * k / 9, grid[1] * (k * 4 % 9) / 9, grid[2] * (k * 7 % 9) / 9});
  return {blocks.begin(), blocks.end()};
}

BlockIndex thread_of_warp(const TracedLaunch& launch, std::uint32_t warp) {
  const std::uint32_t thread = warp * 32, row = launch.block[0];
  return {thread % row, thread / row % launch.block[1], thread / row / launch.block[1]};
}

// The place of an access in its array, in bytes.
struct Place {
  std::int64_t array = 0, bytes = 0;
};
class Places {
 public:
  explicit Places(const EvidenceInput& input) : input_(input) {}

  std::optional<Place> of(const TracedAccess& access) const {
    if (!access.known) return std::nullopt;
    if (!access.coordinates.empty()) return by_map(access);
    if (access.origin == 0) return std::nullopt;
    const std::int64_t array = access.origin - 1;
    std::uint64_t start = 0;
    std::memcpy(&start, input_.launch.parameters.data() + array, sizeof(start));
    return Place{array, static_cast<std::int64_t>(access.address - start)};
  }

 private:
  std::optional<Place> by_map(const TracedAccess& access) const {
    for (const TensorMapShape& map : input_.maps) {
      if (map.offset != access.map_offset) continue;
      std::int64_t bytes = access.coordinates[0] * map.element_bytes;
      for (std::size_t k = 1; k < access.coordinates.size() && k <= map.strides.size(); ++k)
        bytes += access.coordinates[k] * map.strides[k - 1];
      return Place{map.offset, bytes};
    }
    return std::nullopt;
  }
  const EvidenceInput& input_;
};

bool is_store(const Instruction& i) {
  return opcode_row(i.opcode).kind == InstructionKind::store || i.opcode == "UTMASTG" || i.opcode == "UTMAREDG";
}

// What a thread accesses of one array in one tile.
struct Walk {
  std::set<std::int64_t> offsets;
  std::map<std::size_t, std::int64_t> before;    // by instruction
  std::map<std::int64_t, std::int64_t> strides;  // difference -> times
  std::int64_t earliest = 0, latest = 0;         // in time
  bool stored = false, by_map = false;

  void add(std::size_t instruction, std::int64_t bytes) {
    if (offsets.empty()) earliest = bytes;
    latest = bytes;
    offsets.insert(bytes);
    if (const auto old = before.find(instruction); old != before.end() && old->second != bytes)
      ++strides[bytes - old->second];
    before[instruction] = bytes;
  }

  // Bytes of a step. Of threads that copy parts of a tile, the most frequent difference between accesses of one
  // instruction that follow each other. A tensor map copies whole tiles, by several instructions where the loop is
  // unrolled, perhaps so far that none of them copies twice: the smallest distance at which all its copies repeat.
  std::int64_t step() const {
    std::int64_t best = 0, times = 0;
    for (const auto& [stride, count] : strides)
      if (count > times) best = stride, times = count;
    constexpr std::size_t least_copies = 3;
    if (!by_map || (best == 0 && offsets.size() < least_copies)) return best;
    const bool falls = best != 0 ? best < 0 : latest < earliest;
    for (const std::int64_t offset : offsets) {
      const std::int64_t period = offset - *offsets.begin();
      if (period == 0 || (best != 0 && std::abs(best) % period != 0)) continue;
      const bool repeats = std::all_of(offsets.begin(), offsets.end(), [&](std::int64_t each) {
        return each + period > *offsets.rbegin() || offsets.contains(each + period);
      });
      if (repeats) return falls ? -period : period;
    }
    return best;
  }
};

// The visits of one thread. `stores`: by instruction, whether it does. `head`: instructions of which the first that the
// thread executes begins a new tile whenever it is executed again.
std::vector<BlockVisit> visits_of(const ThreadRun& run, const Places& places, const std::vector<bool>& stores,
                                  const BlockIndex& block, const std::vector<bool>& heads) {
  std::vector<BlockVisit> visits;
  std::map<std::int64_t, Walk> walks;
  std::optional<std::size_t> head;
  const auto close = [&] {
    BlockVisit visit{
        .block = {block[0], block[1], block[2]}, .tile = static_cast<std::int64_t>(visits.size()), .arrays = {}};
    for (const auto& [array, walk] : walks)
      visit.arrays.push_back({.array = array,
                              .stored = walk.stored,
                              .first = *walk.offsets.begin(),
                              .last = *walk.offsets.rbegin(),
                              .step = walk.step()});
    if (!visit.arrays.empty()) visits.push_back(std::move(visit));
    walks.clear();
  };
  for (const TracedAccess& access : run.accesses) {
    const auto place = places.of(access);
    if (!place) continue;
    if (!head && heads[access.instruction]) head = access.instruction;
    else if (head && *head == access.instruction) close();
    Walk& walk = walks[place->array];
    walk.by_map = !access.coordinates.empty();
    walk.stored = stores[access.instruction];
    walk.add(access.instruction, place->bytes);
  }
  close();
  return visits;
}

// Joins what several warps of a block do; each array as the warp sees it that walks farthest.
void join(std::vector<BlockVisit>& into, std::vector<BlockVisit> more) {
  if (into.size() < more.size()) into.swap(more);
  for (std::size_t tile = 0; tile < more.size(); ++tile)
    for (const ArrayVisit& visit : more[tile].arrays) {
      auto& arrays = into[tile].arrays;
      const auto same =
          std::find_if(arrays.begin(), arrays.end(), [&](const ArrayVisit& a) { return a.array == visit.array; });
      if (same == arrays.end()) arrays.push_back(visit);
      else if (same->step == 0 && visit.step != 0) *same = visit;
      else if (same->step == 0 && visit.first < same->first) *same = visit;
    }
  for (BlockVisit& visit : into)
    std::sort(visit.arrays.begin(), visit.arrays.end(),
              [](const ArrayVisit& a, const ArrayVisit& b) { return a.array < b.array; });
}

class Tracer {
 public:
  explicit Tracer(const EvidenceInput& input)
      : input_(input), machine_(input.code.section, input.launch), places_(input) {
    for (const Instruction& i : input.code.section.instructions) stores_.push_back(is_store(i));
  }

  LaunchEvidence evidence() {
    const TracedLaunch& launch = input_.launch;
    for (std::size_t axis = 0; axis < 3; ++axis) found_.grid[axis] = launch.grid[axis];
    found_.words = integers_of(launch, machine_.words_read(), input_.maps);
    found_.numbers = compared_numbers(input_.code.section);
    found_.maps = input_.maps;
    choose_warps();
    for (const BlockIndex& block : sampled_blocks(launch.grid)) {
      std::vector<BlockVisit> visits;
      for (const std::uint32_t warp : warps_) join(visits, trace(block, warp));
      for (BlockVisit& visit : visits) found_.blocks.push_back(std::move(visit));
      if (executed_ > most_instructions) break;
    }
    leave_out_varying();
    return std::move(found_);
  }

 private:
  // Words on which nothing depends are no sizes.
  void leave_out_varying() {
    const std::vector<std::int64_t>& varying = input_.launch.varying;
    std::set<std::int64_t> read = machine_.words_read();
    for (std::size_t i = 0; i < varying.size(); ++i)
      if ((found_.varies & varying_bit(i)) == 0) read.erase(varying[i]);
    found_.words = integers_of(input_.launch, read, input_.maps);
  }

  // The first warp of each kind that visits an array which no earlier one visits.
  void choose_warps() {
    const TracedLaunch& launch = input_.launch;
    const std::uint32_t warps = (launch.block[0] * launch.block[1] * launch.block[2] + 31) / 32;
    std::map<std::int64_t, bool> seen;  // array -> walked over
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
      bool adds = false;
      for (const BlockVisit& visit : trace({0, 0, 0}, warp))
        for (const ArrayVisit& each : visit.arrays) {
          const auto [at, fresh] = seen.try_emplace(each.array, false);
          adds = adds || fresh || (each.step != 0 && !at->second);
          at->second = at->second || each.step != 0;
        }
      if (adds) warps_.push_back(warp);
      if (executed_ > most_instructions / 4) break;
    }
  }

  std::vector<BlockVisit> trace(const BlockIndex& block, std::uint32_t warp) {
    const ThreadRun run = machine_.run(block, thread_of_warp(input_.launch, warp), most_of_thread);
    for (const std::int64_t count : run.executed) executed_ += count;
    found_.guesses = std::max(found_.guesses, run.guesses);
    found_.claims = found_.claims || (run.claims && run.guesses > 0);
    if (!run.stopped.empty()) found_.stopped = run.stopped;
    found_.varies |= run.varies;
    std::vector<BlockVisit> whole = visits_of(run, places_, stores_, block, std::vector<bool>(stores_.size()));
    std::vector<BlockVisit> tiles = visits_of(run, places_, stores_, block, heads_);
    const auto walks = [](const BlockVisit& visit) {
      return std::any_of(visit.arrays.begin(), visit.arrays.end(),
                         [](const ArrayVisit& array) { return array.step != 0 || array.stored; });
    };
    return tiles.size() > 1 && std::all_of(tiles.begin(), tiles.end(), walks) ? tiles : whole;
  }

  // Instructions of loops around other loops: of what a persistent block does in each tile, outside its loop over keys.
  std::vector<bool> heads_of_tiles() const {
    const CodeSummary& code = input_.code;
    std::vector<bool> heads(code.section.instructions.size());
    for (const CodeLoop& inner : code.loops)
      if (inner.parent && !inner.waits)
        for (const std::size_t block : code.loops[*inner.parent].blocks)
          for (std::size_t i = code.blocks[block].begin; i < code.blocks[block].end; ++i) heads[i] = true;
    return heads;
  }

  const EvidenceInput& input_;
  ThreadMachine machine_;
  Places places_;
  LaunchEvidence found_;
  std::vector<std::uint32_t> warps_;
  std::int64_t executed_ = 0;
  std::vector<bool> heads_ = heads_of_tiles(), stores_;
};

}  // namespace

LaunchEvidence launch_evidence(const EvidenceInput& input) { return Tracer(input).evidence(); }

}  // namespace tilescope
