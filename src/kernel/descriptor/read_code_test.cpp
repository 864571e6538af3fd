// Tests how the summary of a kernel's machine code is read beside its descriptor.
#include "kernel/descriptor/read_code.h"

#include <unistd.h>

#include <fstream>

#include "kernel/descriptor/descriptor_probes.h"

namespace read_code_test {

using namespace tilescope;
using namespace tilescope::descriptor_probes;

namespace {

constexpr const char* descriptor_text = R"(schema: tilescope/kernel/1
kernel: read_code
schedule: flash2
summary: of this test
dtypes: [fp16, bf16]
head_dims: [64]
masks: [none]
islands:
  - {name: forward, tensor_path: mma.sync, mma: {m: 16, n: 8, k: 16}, block_order: [q, heads, batch]}
)";

constexpr const char* code_text = R"({
 "schema": "tilescope/code/1",
 "file": "kernels/read_code", "compiler": "nvcc", "function": "f", "tile": {}, "before": 1, "mask_rows": 64,
 "source_sha256": "0",
 "kernels": [
  {"kernel":"f","compute_capability":"8.0","variant":{"dtypes":["bf16"],"head_dim":64,"tile_q":128,"tile_kv":64,
      "warps":8,"stages":3},"warps":4,"passes":{"step":{"instructions":100,"alu":40},"begin":{"maxima":7}}}
]}
)";

// A folder with kernel.yaml and code.json.
class Folder {
 public:
  Folder(const std::string& descriptor, const std::string& code)
      : place_(std::filesystem::temp_directory_path() / ("tilescope_code_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(place_);
    std::ofstream(place_ / "kernel.yaml") << descriptor;
    std::ofstream(place_ / "code.json") << code;
  }
  ~Folder() { std::filesystem::remove_all(place_); }
  KernelDescriptor load() const { return load_descriptor(place_ / "kernel.yaml", root / "models"); }
  std::string findings() const {
    try {
      load();
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }

 private:
  std::filesystem::path place_;
};

std::string with(std::string text, const std::string& old, const std::string& now) {
  return text.replace(text.find(old), old.size(), now);
}

}  // namespace

TEST_CASE("variants and their instructions come from code.json beside the descriptor") {
  const KernelDescriptor kernel = Folder(descriptor_text, code_text).load();
  REQUIRE(kernel.variants.size() == 1);
  const KernelVariant& variant = kernel.variants.front();
  CHECK(variant.tile_q == 128);
  CHECK(variant.stages == 3);
  REQUIRE(variant.formats.size() == 1);
  CHECK(to_string(variant.formats.front()) == "bf16");
  CHECK(variant.code.warps == 4);
  CHECK(variant.code.before == 1);
  CHECK(variant.code.mask_rows == 64);
  CHECK(variant.code.of(CodePass::step, CodeCount::instructions) == 100);
  CHECK(variant.code.of(CodePass::step, CodeCount::alu) == 40);
  CHECK(variant.code.of(CodePass::begin, CodeCount::maxima) == 7);
  CHECK(variant.code.of(CodePass::end, CodeCount::alu) == 0);
}

TEST_CASE("a wrong code.json gives a finding in that file, and variants are stated once") {
  const auto found = [](const std::string& old, const std::string& now) {
    return Folder(descriptor_text, with(code_text, old, now)).findings();
  };
  CHECK(found("\"step\"", "\"stop\"").find("no piece of code is called 'stop'; did you mean 'step'?") !=
        std::string::npos);
  CHECK(found("\"alu\":40", "\"alu\":-1").find("expected an integer from 0 to 1073741824") != std::string::npos);
  CHECK(found("\"maxima\"", "\"minima\"").find("code.json:") != std::string::npos);
  CHECK(found("\"warps\":4,\"passes\"", "\"passes\"").find("warps: is missing") != std::string::npos);
  CHECK(found("\"before\": 1", "\"before\": 2").find("expected an integer from 0 to 1") != std::string::npos);
  CHECK(found("\"head_dim\":64", "\"head_dim\":\"x\"").find("kernels[0].variant.head_dim") != std::string::npos);
  const std::string other =
      std::string(descriptor_text) + "variants:\n  - {head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4}\n";
  CHECK(Folder(other, code_text).findings().find("no instance has the tile 64x64 with 4 warps at head_dim 64") !=
        std::string::npos);
}

TEST_CASE("typed variants get the instructions of the instance with their tile, warps and stages") {
  const std::string typed =
      std::string(descriptor_text) + "variants:\n  - {head_dim: 64, tile_q: 128, tile_kv: 64, warps: 8}\n";
  const KernelDescriptor kernel = Folder(typed, code_text).load();
  REQUIRE(kernel.variants.size() == 1);
  CHECK(kernel.variants.front().code.of(CodePass::step, CodeCount::alu) == 40);
  const std::string stages = with(typed, "warps: 8", "warps: 8, stages: 2");
  CHECK(Folder(stages, code_text).findings().find("no instance has the tile 128x64") != std::string::npos);
}

TEST_CASE("what code tells of launches and variants stands in the summary, or in the descriptor's own") {
  const std::string found =
      " \"facts\": [{\"launch\": \"forward\", \"row_store\": 8, \"row_load\": 2}],\n"
      " \"variants\": [{\"head_dim\": 64, \"tile_q\": 128, \"tile_kv\": 64, \"warps\": 8, "
      "\"smem_bytes\": 77}],\n";
  const KernelDescriptor kernel =
      Folder(descriptor_text, with(code_text, " \"kernels\"", found + " \"kernels\"")).load();
  REQUIRE(kernel.variants.size() == 1);
  CHECK(kernel.variants.front().smem_bytes == 77);
  CHECK(kernel.variants.front().code.of(CodePass::step, CodeCount::alu) == 40);
  CHECK(kernel.islands.front().row_store == 8);
  CHECK(kernel.islands.front().row_load == 2);
  const std::string own = std::string(descriptor_text) +
                          "code:\n  facts: [{launch: forward, row_store: 4}]\n"
                          "  variants: [{head_dim: 64, tile_q: 64, tile_kv: 64, warps: 4, spills: true}]\n";
  const KernelDescriptor described = Folder(own, code_text).load();
  CHECK(described.islands.front().row_store == 4);
  CHECK(described.variants.front().spills);
  CHECK(described.variants.front().code.warps == 0);
  CHECK(
      Folder(with(own, "launch: forward", "launch: backward"), code_text).findings().find("expected one of forward") !=
      std::string::npos);
}

TEST_CASE("what instances are built for need not be typed beside their code") {
  std::string short_text = with(with(descriptor_text, "dtypes: [fp16, bf16]\n", ""), "head_dims: [64]\n", "");
  const KernelDescriptor kernel = Folder(short_text, code_text).load();
  CHECK(kernel.head_dims == std::vector<std::int64_t>{64});
  CHECK(kernel.dtypes == std::vector<Dtype>{Dtype{Format::bf16}});
  CHECK(kernel.least_compute_capability == 8.0);
  short_text += "variants:\n  - {head_dim: 64, tile_q: 128, tile_kv: 64, warps: 8}\n";
  CHECK(Folder(short_text, code_text).findings().find("head_dims: is missing") != std::string::npos);
}

TEST_CASE("launches without products have pieces and loops of their own") {
  const std::string launch =
      ",\n  "
      "{\"kernel\":\"g\",\"launch\":\"combine\",\"steps\":{\"least\":5},\"columns\":128,\"warps\":4,\"first_lanes\":16,"
      "\"passes\":{\"row\":{\"instructions\":9}},\"loops\":[{\"array\":\"V\",\"apart\":32,\"beside\":32,\"group\":4,"
      "\"left\":{\"instructions\":16},\"of_group\":{\"instructions\":44}}]}\n]}";
  const KernelDescriptor kernel = Folder(descriptor_text, with(code_text, "\n]}", launch)).load();
  REQUIRE(kernel.launch_codes.size() == 1);
  const LaunchCode& found = kernel.launch_codes.front();
  CHECK(found.launch == "combine");
  CHECK(found.least_steps == 5);
  CHECK(found.most_steps == 0);
  CHECK(found.code.first_lanes == 16);
  CHECK(found.code.of(CodePass::row, CodeCount::instructions) == 9);
  REQUIRE(found.code.loops.size() == 1);
  CHECK(found.code.loops.front().array == "V");
  CHECK(found.code.loops.front().group == 4);
  CHECK(found.code.loops.front().of_group[0] == 44);
  CHECK(found.code.loops.front().around_left[0] == 0);
  const std::string other = with(code_text, "\n]}", with(launch, "\"array\":\"V\"", "\"array\":\"W\""));
  CHECK(Folder(descriptor_text, other).findings().find("'W' is not an array of diagram") != std::string::npos);
}

TEST_CASE("the summary of NAME.kernel.yaml is NAME.code.json") {
  CHECK(reading::code_file_of("a/kernel.yaml") == "a/code.json");
  CHECK(reading::code_file_of("a/b.kernel.yaml") == "a/b.code.json");
  CHECK(reading::code_file_of("a/b.yaml").empty());
}

}  // namespace read_code_test
