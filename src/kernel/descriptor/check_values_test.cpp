// Tests descriptors with values that no kernel of their schedule can have.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "base/files.h"
#include "kernel/descriptor/descriptor_probes.h"
#include "kernel/descriptor/instruction_shapes.h"

namespace check_values_test {

using namespace tilescope;
using namespace tilescope::descriptor_probes;

namespace {

// The findings of a small descriptor with one text replaced by another; empty: it is read.
std::string findings(const std::string& from = "", const std::string& to = "") {
  std::string text =
      "schema: tilescope/kernel/1\nkernel: mine\nschedule: flash2\nsummary: s\ndtypes: [fp16]\nhead_dims: [128]\n"
      "masks: [none]\nislands:\n  - name: forward\n    tensor_path: mma.sync\n    mma: {m: 16, n: 8, k: 16}\n"
      "    stages: 2\n    block_order: [q, heads, batch]\n    row_replication: 4\nvariants:\n"
      "  - {head_dim: 128, tile_q: 128, tile_kv: 64, warps: 4, registers_hold: [Q]}\n";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return Probe({}, [](const std::filesystem::path& file) { load_descriptor(file, root / "models"); }).findings(text);
}

bool says(const std::string& found, const std::string& part) { return found.find(part) != std::string::npos; }

const std::string path = "mma.sync\n    mma: {m: 16, n: 8, k: 16}";
std::string wgmma(const std::string& shape) { return "wgmma\n    mma: " + shape; }

}  // namespace

TEST_CASE("an instruction's shape is one that the PTX ISA has") {
  CHECK(findings() == "");
  for (const char* shape : {"{m: 16, n: 1000, k: 16}", "{m: 7, n: 8, k: 16}", "{m: 16, n: columns, k: 16}"})
    CHECK_MESSAGE(says(findings("{m: 16, n: 8, k: 16}", shape),
                       "islands[0].mma: mma.sync has no instruction of this shape; expected one of {m: 8, n: 8, k: 4}"),
                  shape);
  for (const char* shape : {"{m: 64, n: columns, k: 16}", "{m: 64, n: 8, k: 16}", "{m: 64, n: 256, k: 16}"})
    CHECK_MESSAGE(findings(path, wgmma(shape)) == "", shape);
  for (const char* shape : {"{m: 16, n: 8, k: 16}", "{m: 64, n: 12, k: 16}", "{m: 64, n: 264, k: 16}"})
    CHECK_MESSAGE(says(findings(path, wgmma(shape)), "expected m: 64, n: columns or a multiple of 8 up to 256, k: 16"),
                  shape);
}

TEST_CASE("the least compute capability of mma.sync follows from its shape") {
  CHECK(least_capability(TensorPath::mma_sync, {16, 8, 16}) == 8.0);
  CHECK(least_capability(TensorPath::mma_sync, {16, 8, 8}) == 7.5);
  CHECK(least_capability(TensorPath::mma_sync, {8, 8, 4}) == 7.0);
  CHECK(least_capability(TensorPath::fma, {}) == 0);
}

TEST_CASE("warps that execute wgmma are whole warpgroups") {
  const std::string kernel = wgmma("{m: 64, n: columns, k: 16}");
  const auto with_warps = [&](const std::string& warps) {
    std::string more =
        "stages: 2\n    block_order: [q, heads, batch]\n    row_replication: 4\nvariants:\n"
        "  - {head_dim: 128, tile_q: 128, tile_kv: 64, warps: 4";
    return findings(path + "\n    " + more, kernel + "\n    " + more.substr(0, more.size() - 1) + warps);
  };
  CHECK(with_warps("12, consumer_warps: 8") == "");
  CHECK(says(with_warps("2"),
             "variants[0]: 2 warps of island 'forward' execute wgmma, which takes whole warpgroups: "
             "state a multiple of 4"));
  CHECK(says(with_warps("12, consumer_warps: 6"), "6 warps of island 'forward'"));
}

TEST_CASE("a product has no more parts than warps") {
  const auto with_grid = [](const std::string& grid) {
    return findings("    stages: 2", "    products: {scores: {grid: " + grid + "}}\n    stages: 2");
  };
  CHECK(with_grid("{rows: 2, columns: 2}") == "");
  CHECK(says(with_grid("{rows: 3, columns: 5}"),
             "variants[0]: 4 warps cannot share product 'scores' of island "
             "'forward' in 15 parts"));
}

TEST_CASE("the order of blocks names the dimensions of the schedule's grid") {
  CHECK(says(findings("[q, heads, batch]", "[heads, batch]"),
             "islands[0].block_order: lacks 'q', a dimension of the grid of island 'forward' of schedule 'flash2'"));
  CHECK(says(findings("[q, heads, batch]", "[]"), "lacks 'batch'"));
  CHECK(says(findings("[q, heads, batch]", "[q, kv, heads, batch]"),
             "'kv' is no dimension of the grid of island 'forward'"));
}

TEST_CASE("only operands of products are held in registers beside the accumulators") {
  CHECK(findings("[Q]}", "[P]}") == "");
  for (const char* array : {"O", "L", "S"})
    CHECK_MESSAGE(says(findings("[Q]}", std::string("[") + array + "]}"),
                       std::string("variants[0].registers_hold: '") + array + "' is no operand of a product"),
                  array);
}

TEST_CASE("a condition's modulus is above zero, and each head_dim has a variant") {
  CHECK(says(findings("islands:", "shapes: [{when: q_len % 0 == 0, otherwise: x}]\nislands:"),
             "expected a modulus above 0"));
  CHECK(findings("islands:", "shapes: [{when: q_len % heads_q == 0, otherwise: x}]\nislands:") == "");
  CHECK(says(findings("[128]", "[64, 128]"), "head_dims[0]: no variant has head_dim 64; add one"));
}

}  // namespace check_values_test
