// Launches that differ in their parameters: carried out together they show what each shows alone.
#include "launches/shown_launch.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <random>
#include <set>

#include "base/error.h"
#include "base/test_seed.h"
#include "kernel/code/testdata/test_kernels.h"
#include "kernel/describe/nested/launched_dims.h"

namespace shown_launch_test {

using namespace tilescope;
using namespace tilescope::launches;

namespace {

// Parameters of testdata/triton_forward: five arrays, the scale, six strides, then heads and lengths.
std::string parameters_of(std::mt19937& random, std::int64_t kv_len, std::int64_t heads) {
  std::string bytes(88, '\0');
  const auto put = [&](std::size_t offset, auto value) { std::memcpy(bytes.data() + offset, &value, sizeof(value)); };
  for (std::size_t array = 0; array < 5; ++array) put(8 * array, std::uint64_t{0x7f1200000000} + (random() << 8));
  put(40, static_cast<float>(random() % 100));  // the scale, on which no address depends
  constexpr std::int64_t q_len = 200, head_dim = 64;
  const std::array<std::int64_t, 10> numbers{heads * q_len * head_dim,
                                             q_len * head_dim,
                                             head_dim,
                                             heads * kv_len * head_dim,
                                             kv_len * head_dim,
                                             head_dim,
                                             heads,
                                             heads,
                                             q_len,
                                             kv_len};
  for (std::size_t i = 0; i < numbers.size(); ++i) put(44 + 4 * i, static_cast<std::int32_t>(numbers[i]));
  return bytes;
}

capture::Capture launches_of(std::mt19937& random, int count) {
  capture::Capture capture;
  capture.kernels.push_back({});
  for (int i = 0; i < count; ++i) {
    capture::CapturedLaunch& launch = capture.launches.emplace_back();
    launch.grid = {4, 12, 1}, launch.block = {128, 1, 1};
    launch.parameters =
        parameters_of(random, 100 + 100 * static_cast<std::int64_t>(random() % 3), random() % 2 == 0 ? 6 : 4);
    launch.addresses = {0, 8, 16, 24, 32};
  }
  return capture;
}

}  // namespace

TEST_CASE("launches that are carried out together show what each of them shows alone") {
  const Cubin cubin = test_cubin("triton_forward");
  CodeSummary code = test_summary("triton_forward");
  const FoundFacts facts = attention_facts(cubin.kernels.at(0), cubin.compute_capability, code);
  REQUIRE(facts.facts);
  const KernelCode kernel{cubin.kernels[0], std::move(code), *facts.facts};
  std::mt19937 random(test_seed());
  const capture::Capture capture = launches_of(random, 24);
  std::vector<AskedLaunch> asked;
  for (std::size_t i = 0; i < capture.launches.size(); ++i) asked.push_back({i, &kernel});
  const auto together = shown_launches(capture, asked);
  REQUIRE(together.size() == capture.launches.size());
  std::set<std::string> kinds;
  for (const auto& [launch, shown] : together) {
    CAPTURE(launch);
    const std::string text = shown_json(shown);
    CHECK(text == shown_json(shown_launch(capture, launch, kernel, std::nullopt)));
    CHECK(shown_json(read_shown(text, "stored")) == text);
    kinds.insert(text);
  }
  CHECK(kinds.size() > 1);
}

TEST_CASE("a run says which of the varying parameters decide what it accesses") {
  const Cubin cubin = test_cubin("triton_forward");
  const CodeSummary code = test_summary("triton_forward");
  std::mt19937 random(test_seed());
  TracedLaunch launch;
  launch.grid = {4, 12, 1}, launch.block = {128, 1, 1}, launch.parameters = parameters_of(random, 300, 6);
  launch.addresses = {0, 8, 16, 24, 32};
  launch.constant_offset = cubin.kernels.at(0).parameters_offset;
  constexpr std::size_t scale = 0, keys = 1;
  launch.varying = {40, 80};
  const ThreadRun run = ThreadMachine(code.section, launch).run({0, 0, 0}, {0, 0, 0}, 1'000'000);
  CHECK(run.varies == varying_bit(keys));
  CHECK((run.varies & varying_bit(scale)) == 0);
}

TEST_CASE("damaged lines of what launches show are refused with the file, the expectation and the finding") {
  for (const char* text : {"[]", "{\"batch\": 0}", "{\"q_len\": -5}", "{\"kv_len\": 1e300}", "{\"heads_q\": \"8\"}",
                           "{\"head_dims\": [64]}", "{\"head_dims\": [64, 9999999999]}", "{\"mask\": 3}",
                           "{\"falling\": 1}", "{\"unknown\": \"sizes\"}", "{"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_shown(text, "capture.facts.jsonl"), InputError);
  }
}

TEST_CASE("copies by threads show how many tiles of keys lie in shared memory, once they copy to a place again") {
  const Cubin cubin = test_cubin("split_kv");
  const CodeSummary code = test_summary("split_kv");
  const FoundFacts facts = attention_facts(cubin.kernels.at(0), cubin.compute_capability, code);
  REQUIRE(facts.facts);
  // As captured: five entries, two heads, 3000 keys in 47 tiles, so many of them for a block.
  std::string parameters(160, '\0');
  const auto put = [&](std::size_t offset, auto value) {
    std::memcpy(parameters.data() + offset, &value, sizeof(value));
  };
  for (std::size_t array : {0, 8, 16, 24, 32, 48, 56}) put(array, std::uint64_t{0x7f8d00000000} + (array << 32));
  const std::pair<std::size_t, std::int32_t> words[] = {{64, 8},           {68, 1},          {72, 3000}, {76, 2},
                                                        {84, 47},          {92, 1},          {120, 1},   {136, 1},
                                                        {152, 0x3e38aa3b}, {156, 0x3f800000}};
  for (const auto& [offset, word] : words) put(offset, word);
  std::mt19937 random(test_seed());
  for (int round = 0; round < 12; ++round) {
    const auto tiles = static_cast<std::int32_t>(1 + random() % 40);
    put(88, tiles);
    TracedLaunch launch;
    launch.grid = {static_cast<std::uint32_t>((47 + tiles - 1) / tiles), 2, 5}, launch.block = {128, 1, 1};
    launch.parameters = parameters, launch.addresses = {0, 8, 16, 24, 32, 48, 56};
    launch.constant_offset = cubin.kernels[0].parameters_offset;
    CAPTURE(tiles);
    constexpr std::int64_t stages = 4;
    CHECK(stages_of_copies(code, launch, facts.facts->copied_bytes).stages == (tiles > stages ? stages : 0));
  }
}

}  // namespace shown_launch_test
