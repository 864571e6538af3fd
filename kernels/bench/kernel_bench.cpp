// Times the built variants on given shapes and prints CSV. TFLOP/s by the field's convention: 4 * visible pairs * d.
//   kernel_bench [--repeats=N] [--warm-up=N] [--kernel=NAME] [--dtype=fp16] [--mask=MASK] [--tile=QxKVxWARPS]
//                batch,heads_q,heads_kv,q_len,kv_len,head_dim ...
// MASK: none, causal, window:W, or blocks:PERCENT: that many of a row's 128 x 128 blocks are live, drawn at random.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "test/device_run.h"

namespace tilescope::kernels {
namespace {

struct Options {
  int repeats = 30, warm_up = 5;
  std::string kernel, dtype = "fp16", mask = "none", tile;
  std::vector<Shape> shapes;
};

[[noreturn]] void usage(const std::string& what) {
  throw InputError(Diagnostic{"", 0, 0, what,
                              "expected [--repeats=N] [--warm-up=N] [--kernel=NAME] [--dtype=fp16|bf16|fp32] "
                              "[--mask=none|causal|window:W|blocks:PERCENT] [--tile=QxKVxWARPS] "
                              "batch,heads_q,heads_kv,q_len,kv_len,head_dim ..."});
}

Shape parse_shape(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(',', at), text.size());
    const std::string number = text.substr(at, end - at);
    if (number.empty() || number.size() > 12 || number.find_first_not_of("0123456789") != std::string::npos)
      usage(text);
    numbers.push_back(std::stoll(number));
    at = end + 1;
  }
  if (numbers.size() != 6) usage(text);
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[5]};
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    auto value = [&](const char* name) { return argument.substr(std::string(name).size()); };
    if (argument.starts_with("--repeats=")) {
      options.repeats = std::clamp(std::atoi(value("--repeats=").c_str()), 1, 100000);
    } else if (argument.starts_with("--warm-up=")) {
      options.warm_up = std::clamp(std::atoi(value("--warm-up=").c_str()), 0, 100000);
    } else if (argument.starts_with("--kernel=")) {
      options.kernel = value("--kernel=");
    } else if (argument.starts_with("--dtype=")) {
      options.dtype = value("--dtype=");
    } else if (argument.starts_with("--mask=")) {
      options.mask = value("--mask=");
    } else if (argument.starts_with("--tile=")) {
      options.tile = value("--tile=");
    } else {
      options.shapes.push_back(parse_shape(argument));
    }
  }
  if (options.shapes.empty()) usage("no shape");
  return options;
}

struct MaskChoice {
  Mask mask = Mask::none;
  std::int64_t window = 0;
  double percent = 0;
};

MaskChoice parse_mask(const std::string& text) {
  const std::string number = text.substr(std::min(text.find(':'), text.size() - 1) + 1);
  const double value = std::atof(number.c_str());
  if (text == "none") return {};
  if (text == "causal") return {.mask = Mask::causal};
  if (text.starts_with("window:") && value >= 1 && value < 1e12)
    return {.mask = Mask::window, .window = static_cast<std::int64_t>(value)};
  if (text.starts_with("blocks:") && value > 0 && value <= 100) return {.mask = Mask::blocks, .percent = value};
  usage(text);
}

constexpr std::int64_t block_side = 128;

// A block mask with the same number of live blocks in every row, at least one.
std::vector<std::uint8_t> random_blocks(const Shape& s, double percent, std::mt19937_64& random) {
  const std::int64_t rows = (s.q_len + block_side - 1) / block_side, columns = (s.kv_len + block_side - 1) / block_side;
  std::vector<std::uint8_t> row(static_cast<std::size_t>(columns)), all;
  std::fill_n(row.begin(), std::max<std::int64_t>(1, std::llround(static_cast<double>(columns) * percent / 100)),
              std::uint8_t{1});
  for (std::int64_t i = 0; i < rows; ++i) {
    std::shuffle(row.begin(), row.end(), random);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

// Query-key pairs that the mask leaves, over one head.
double visible_pairs(const Shape& s, const MaskChoice& choice, const std::vector<std::uint8_t>& blocks) {
  if (choice.mask == Mask::none) return static_cast<double>(s.q_len) * static_cast<double>(s.kv_len);
  double pairs = 0;
  const std::int64_t columns = (s.kv_len + block_side - 1) / block_side;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / columns, column = static_cast<std::int64_t>(i) % columns;
    if (blocks[i] != 0)
      pairs += static_cast<double>(std::min(block_side, s.q_len - row * block_side)) *
               static_cast<double>(std::min(block_side, s.kv_len - column * block_side));
  }
  if (choice.mask == Mask::blocks) return pairs;
  for (std::int64_t i = 0; i < s.q_len; ++i) {
    const std::int64_t seen = std::clamp<std::int64_t>(i + s.kv_len - s.q_len + 1, 0, s.kv_len);
    pairs += static_cast<double>(choice.mask == Mask::window ? std::min(seen, choice.window) : seen);
  }
  return pairs;
}

void fill(const DeviceBuffer& buffer, Dtype dtype, std::mt19937_64& random) {
  constexpr std::size_t piece = 1 << 20;  // elements; the same random piece again and again
  const Encoded values = random_array(dtype, piece, 0.0f, 1.0f, random);
  for (std::size_t at = 0; at < buffer.size(); at += values.raw.size())
    if (cudaMemcpy(static_cast<char*>(buffer.get()) + at, values.raw.data(),
                   std::min(values.raw.size(), buffer.size() - at), cudaMemcpyHostToDevice) != cudaSuccess)
      throw DeviceError("upload failed");
}

void bench(const Variant& variant, const Shape& s, const MaskChoice& choice, const Options& options) {
  std::mt19937_64 random(1);
  std::vector<std::uint8_t> live;
  if (choice.mask == Mask::blocks) live = random_blocks(s, choice.percent, random);
  const auto elements = [&](std::int64_t heads, std::int64_t rows) {
    return bytes_of(variant.dtype, s.batch * heads * rows * s.d_qk);
  };
  DeviceBuffer q(elements(s.heads_q, s.q_len)), k(elements(s.heads_kv, s.kv_len)), v(elements(s.heads_kv, s.kv_len)),
      o(elements(s.heads_q, s.q_len)), l(static_cast<std::size_t>(s.batch * s.heads_q * s.q_len) * 4),
      workspace(workspace_bytes(variant, {.shape = s, .mask = choice.mask})), block_mask(live.size());
  if (!live.empty()) block_mask.upload(live.data(), live.size());
  for (const DeviceBuffer* buffer : {&q, &k, &v}) fill(*buffer, variant.dtype, random);
  Problem problem{.shape = s, .mask = choice.mask, .scale = 1.0f / std::sqrt(static_cast<float>(s.d_qk))};
  problem.q = q.get(), problem.k = k.get(), problem.v = v.get(), problem.o = o.get();
  problem.l = static_cast<float*>(l.get()), problem.workspace = workspace.get();
  problem.window = choice.window;
  problem.block_mask = static_cast<const std::uint8_t*>(block_mask.get());
  problem.block_q = problem.block_kv = block_side;
  const auto launches = prepare(variant, problem);
  const double flop = 4.0 * visible_pairs(s, choice, live) * static_cast<double>(s.batch * s.heads_q * s.d_qk);
  const double seconds = median_seconds(launches, options.warm_up, options.repeats);
  int registers = 0, blocks = 99;
  std::int64_t local = 0;
  for (const Launch& launch : launches) {
    registers = std::max(registers, launch.registers_per_thread), blocks = std::min(blocks, launch.blocks_per_unit);
    local = std::max(local, launch.local_bytes_per_thread);
  }
  fmt::print("{},{},{},{},{},{},{},{},{},{},{},{},{:.2f},{:.1f},{},{},{}\n", variant.kernel, to_string(variant.dtype),
             s.d_qk, variant.tile_q, variant.tile_kv, variant.warps, s.batch, s.heads_q, s.heads_kv, s.q_len, s.kv_len,
             options.mask, seconds * 1e6, flop / seconds * 1e-12, registers, local, blocks);
  std::fflush(stdout);
}

int run_all(const Options& options) {
  const MaskChoice choice = parse_mask(options.mask);
  fmt::print(
      "kernel,dtype,head_dim,tile_q,tile_kv,warps,batch,heads_q,heads_kv,q_len,kv_len,mask,median_us,tflops,registers,"
      "local_bytes,blocks_per_sm\n");
  for (const Shape& shape : options.shapes)
    for (const Variant& variant : built_variants()) {
      if (!options.kernel.empty() && variant.kernel != options.kernel) continue;
      if (!options.tile.empty() &&
          options.tile != fmt::format("{}x{}x{}", variant.tile_q, variant.tile_kv, variant.warps))
        continue;
      if (pass_of(variant) != Pass::forward || variant.q || variant.k || variant.v || variant.paged) continue;
      if (to_string(variant.dtype) != options.dtype || !unsupported_reason(variant, shape, choice.mask).empty())
        continue;
      bench(variant, shape, choice, options);
    }
  return 0;
}

}  // namespace
}  // namespace tilescope::kernels

int main(int argc, char** argv) {
  try {
    return tilescope::kernels::run_all(tilescope::kernels::parse(argc, argv));
  } catch (const tilescope::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const tilescope::DeviceError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
