// Carrying out integer code: single instructions against 64-bit arithmetic, and a Triton kernel with sizes of our own.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <tuple>

#include "base/test_seed.h"
#include "kernel/code/testdata/test_kernels.h"
#include "kernel/code/trace/float_loads.h"
#include "kernel/code/trace/integer_unit.h"
#include "kernel/describe/launch/launch_sizes.h"

namespace trace_trace_test {

using namespace tilescope;

namespace {

IntegerSource word(std::uint32_t low, std::uint32_t high = 0) { return {.low = Word::of(low), .high = Word::of(high)}; }
IntegerSource flag_source(std::uint32_t value) { return {.low = Word::of(value), .predicate = true}; }

Instruction instruction(const char* opcode, std::vector<std::string> modifiers = {}) {
  return {.opcode = opcode, .modifiers = std::move(modifiers)};
}

// Parameters of testdata/triton_forward: five arrays, the scale, six strides, then heads and lengths.
std::string triton_parameters(std::int64_t heads, std::int64_t heads_kv, std::int64_t q_len, std::int64_t kv_len) {
  constexpr std::int64_t head_dim = 64;
  std::string bytes(88, '\0');
  for (int array = 0; array < 5; ++array) {
    const std::uint64_t address = 0x7f1200000000 + (std::uint64_t{1} << 32) * static_cast<std::uint64_t>(array);
    std::memcpy(bytes.data() + 8 * array, &address, 8);
  }
  const std::array<std::int64_t, 10> numbers{heads * q_len * head_dim,
                                             q_len * head_dim,
                                             head_dim,
                                             heads_kv * kv_len * head_dim,
                                             kv_len * head_dim,
                                             head_dim,
                                             heads,
                                             heads_kv,
                                             q_len,
                                             kv_len};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::int32_t>(numbers[i]);
    std::memcpy(bytes.data() + 44 + 4 * i, &number, 4);
  }
  return bytes;
}

}  // namespace

TEST_CASE("sums, products and shifts of pairs of words are those of 64-bit integers") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t a = random(), b = random();
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const std::array sum{word(low(a)), word(low(b)), word(0)};
    const IntegerResult first = integer_result(IntegerCode(instruction("IADD3")), sum);
    const std::array rest{word(high(a)), word(high(b)), word(0), flag_source(first.predicate.value), flag_source(0)};
    const IntegerResult second = integer_result(IntegerCode(instruction("IADD3", {"X"})), rest);
    CHECK((std::uint64_t{second.low.value} << 32 | first.low.value) == a + b);
    const std::array product{word(low(a)), word(high(a)), word(low(b), high(b))};
    const IntegerResult wide = integer_result(IntegerCode(instruction("IMAD", {"WIDE", "U32"})), product);
    CHECK((std::uint64_t{wide.high.value} << 32 | wide.low.value) == std::uint64_t{low(a)} * high(a) + b);
    const std::uint32_t distance = low(b) % 32;
    const std::array shift{word(low(a)), word(distance), word(high(a))};
    CHECK(integer_result(IntegerCode(instruction("SHF", {"R", "U64"})), shift).low.value == low(a >> distance));
    CHECK(integer_result(IntegerCode(instruction("SHF", {"L", "U64", "HI"})), shift).low.value == high(a << distance));
    std::array unknown = sum;
    unknown[round % 2 == 0 ? 0 : 1].low.known = false;
    CHECK_FALSE(integer_result(IntegerCode(instruction("IADD3")), unknown).low.known);
  }
}

TEST_CASE("a Triton kernel that is carried out with sizes of our own shows these sizes") {
  const Cubin cubin = test_cubin("triton_forward");
  const CodeSummary code = test_summary("triton_forward");
  std::mt19937 random(21);
  int whole = 0;
  constexpr int rounds = 12;
  for (int round = 0; round < rounds; ++round) {
    const auto from = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
    };
    const std::int64_t batch = from(2, 3), heads_kv = from(1, 4), heads = heads_kv * from(1, 3);
    const std::int64_t q_len = from(65, 400), kv_len = from(100, 700);
    EvidenceInput input{.code = code, .launch = {}, .maps = {}};
    input.launch.grid = {static_cast<std::uint32_t>((q_len + 63) / 64), static_cast<std::uint32_t>(batch * heads), 1};
    input.launch.block = {128, 1, 1};
    input.launch.parameters = triton_parameters(heads, heads_kv, q_len, kv_len);
    input.launch.addresses = {0, 8, 16, 24, 32};
    input.launch.constant_offset = cubin.kernels.at(0).parameters_offset;
    const LaunchSizes found = launch_sizes(launch_evidence(input), {64, 32, 64, 64});
    CAPTURE(round);
    for (const std::string& open : found.unknown) MESSAGE(open);
    const std::int64_t folded = found.folded ? batch : 1;
    CHECK(found.heads_q.value_or(heads * folded) == heads * folded);
    CHECK(found.heads_kv.value_or(heads_kv * folded) == heads_kv * folded);
    CHECK(found.q_len.value_or(q_len) == q_len);
    CHECK(found.kv_len.value_or(kv_len) == kv_len);
    whole += found.unknown.empty() ? 1 : 0;
  }
  CHECK(whole >= rounds - 2);
}

TEST_CASE("a loaded number is a float if a floating-point instruction reads it before its register is written again") {
  std::mt19937 random(test_seed());
  for (int round = 0; round < 200; ++round) {
    const int loaded = static_cast<int>(random() % 100), other = 100 + static_cast<int>(random() % 50);
    const bool uses_float = random() % 2 == 0, overwritten = random() % 3 == 0;
    std::string text = "\t.section\t.text.k,\"ax\",@progbits\n";
    int address = 0;
    const auto line = [&](const std::string& instruction) {
      text += fmt::format("        /*{:04x}*/                   {} ;\n", address, instruction);
      address += 16;
    };
    line(fmt::format("LDS R{}, [R{}]", loaded, other));
    line(fmt::format("ISETP.GT.AND P0, PT, R{}, RZ, PT", loaded));  // integer code looks at bits of either
    if (overwritten) line(fmt::format("IADD3 R{}, R{}, 0x1, RZ", loaded, other));
    line(fmt::format(fmt::runtime(uses_float ? "FSETP.NEU.AND P1, PT, R{0}, RZ, PT" : "IADD3 R{0}, R{0}, 0x1, RZ"),
                     loaded));
    line("EXIT");
    const std::vector<bool> floats = loads_of_floats(read_listing(text, "test").at(0));
    CHECK(floats.at(0) == (uses_float && !overwritten));
    CHECK(std::count(floats.begin(), floats.end(), true) <= 1);
  }
}

namespace {

// Some number below `end`.
std::uint32_t below(std::mt19937& random, std::size_t end) { return static_cast<std::uint32_t>(random() % end); }

// Pointers, then sizes.
TracedLaunch random_launch(std::mt19937& random) {
  TracedLaunch launch;
  launch.block = {32 * (1 + below(random, 8)), 1, 1};
  launch.grid = {1 + below(random, 8), 1 + below(random, 8), 1};
  launch.addresses = {0, 8, 16, 24, 32};
  launch.varying = {40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 84};
  for (int word = 0; word < 128; ++word) {
    const std::uint32_t value = word < 10 ? below(random, ~std::uint32_t{0}) : below(random, 3000);
    launch.parameters.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return launch;
}

bool same_access(const TracedAccess& x, const TracedAccess& y) {
  return std::tie(x.instruction, x.known, x.origin, x.shared, x.map_offset, x.coordinates) ==
             std::tie(y.instruction, y.known, y.origin, y.shared, y.map_offset, y.coordinates) &&
         (!x.known || x.address == y.address);
}

std::size_t left_out(const CodeSection& section) {
  std::vector<DecodedInstruction> decoded;
  for (const Instruction& i : section.instructions) decoded.push_back(decode(i));
  const NeededCode needed = needed_code(section, decoded);
  std::size_t count = 0;
  for (std::size_t i = 0; i < needed.next.size(); ++i) count += needed.next[i] != i ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("instructions that decide neither an address nor a branch may be left out: a thread does the same") {
  std::mt19937 random(test_seed());
  std::size_t accesses = 0;
  for (const std::string& kernel : test_kernels) {
    const CodeSummary code = test_summary(kernel);
    for (int round = 0; round < 12; ++round) {
      const TracedLaunch launch = random_launch(random);
      const std::array<std::uint32_t, 3> block{below(random, launch.grid[0]), below(random, launch.grid[1]), 0},
          thread{below(random, launch.block[0]), 0, 0};
      const std::int64_t most = round % 2 == 0 ? 200'000 : 1 + below(random, 20'000);
      const ThreadRun a = ThreadMachine(code.section, launch).run(block, thread, most),
                      b = ThreadMachine(code.section, launch, true).run(block, thread, most);
      CAPTURE(kernel);
      CAPTURE(round);
      CHECK(a.executed == b.executed);
      CHECK(a.stopped == b.stopped);
      CHECK(std::tie(a.guesses, a.float_guesses, a.claims) == std::tie(b.guesses, b.float_guesses, b.claims));
      CHECK(std::tie(a.undecided, a.matrix_loads, a.expected_bytes) ==
            std::tie(b.undecided, b.matrix_loads, b.expected_bytes));
      CHECK(a.waits.size() == b.waits.size());
      CHECK(std::equal(a.accesses.begin(), a.accesses.end(), b.accesses.begin(), b.accesses.end(), same_access));
      CHECK((a.varies & ~b.varies) == 0);
      accesses += a.accesses.size();
    }
    CHECK(left_out(code.section) > code.section.instructions.size() / 5);
  }
  CHECK(accesses > 100);
}

}  // namespace trace_trace_test
