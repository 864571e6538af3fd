// Reproduces tables of papers, from schedules where a schedule exists and pass by pass otherwise.
#include <doctest/doctest.h>

#include <string>

#include "predict/predict.h"

namespace tilescope::predict_published_test {
namespace {

// FlashAttention-1 (arXiv 2205.14135v2), figure 2 left: GPT-2 medium, N = 1024, d = 64, 16 heads, batch 64, forward and
// backward on an A100: HBM reads and writes of 40.3 GB (standard) and 4.4 GB (FlashAttention), 66.6 and 75.2 GFLOP.
const Workload gpt2_medium{64, 16, 16, 1024, 1024, 64, 64};
constexpr double published_standard = 40.3e9, published_flash = 4.4e9;

// Block sizes of algorithm 1 with M = 192 KiB of fp16: Bc = ceil(M / 4d), Br = min(Bc, d).
constexpr std::int64_t values_on_chip = 192 * 1024 / 2, block_keys = (values_on_chip + 4 * 64 - 1) / (4 * 64),
                       block_rows = 64;

HardwareProfile nothing_cached() {
  HardwareProfile hardware;
  hardware.id = "one SM";
  hardware.units.value = 1;
  return hardware;
}

// Bytes that cross the boundary of a block's memory. The paper calls them HBM accesses.
struct Bytes {
  std::int64_t total = 0, model_flop = 0;
};
Bytes bytes_of_schedule(Plan plan, std::int64_t q, std::int64_t kv) {
  Point point = default_point(plan);
  point.workload = gpt2_medium;
  point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("q"))] = q;
  point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("kv"))] = kv;
  Prediction prediction;
  predict(plan, nothing_cached(), point, prediction);
  const auto& traffic = prediction.traffic[Boundary::l2];
  return {traffic[0] + traffic[1], prediction.work.model_flop};
}

// Algorithm 4 as printed: dQ, dK and dV are initialised in HBM; dQ is read and written at every step, dK and dV once.
Plan printed_backward() {
  Plan plan = load_plan_for_schedule("flash1-backward", TILESCOPE_SOURCE_DIR);
  Island& island = plan.schedule.islands.front();
  const auto zeroed = [&](const char* name, Accumulate by) {
    const ArrayId id = *plan.schedule.diagram.find_array(name);
    island.stored_as.push_back({.result = id, .as = id, .by = by, .zeroed = true});
  };
  zeroed("dQ", Accumulate::rewriting), zeroed("dK", Accumulate::reduction), zeroed("dV", Accumulate::reduction);
  return plan;
}

}  // namespace

TEST_CASE("FlashAttention-1 as printed moves 4.65 GB in figure 2's shape, within 6 % of the published 4.4 GB") {
  CHECK(block_keys == 384);
  const Plan forward = load_plan_for_schedule("flash1-printed", TILESCOPE_SOURCE_DIR);
  const std::int64_t bytes = bytes_of_schedule(forward, block_rows, block_keys).total +
                             bytes_of_schedule(printed_backward(), block_rows, block_keys).total;
  // Independent count: words of algorithms 1 and 4, counted by hand, with statistics in fp32.
  const std::int64_t n = 1024, d = 64, steps = (n + block_keys - 1) / block_keys, heads = 64 * 16;
  const std::int64_t forward_head = 2 * (n * d + 2 * n * d + steps * 3 * n * d) + 4 * (2 * n + 4 * n * steps);
  const std::int64_t backward_head = 2 * (3 * n * d + 2 * n * d + steps * 5 * n * d + 2 * n * d) + 4 * (2 * n * steps);
  CHECK(steps == 3);
  CHECK(bytes == heads * (forward_head + backward_head));
  CHECK(static_cast<double>(bytes) == doctest::Approx(4.65e9).epsilon(0.002));
  CHECK(static_cast<double>(bytes) / published_flash < 1.06);
  CHECK(static_cast<double>(bytes) / published_flash > 1.0);
}

TEST_CASE("smaller blocks of keys move more bytes: middle of figure 2, forward pass") {
  // The paper prints no table. These are the counts of algorithm 1 for Bc = 64, 128, 256, 512 (fp16, with the
  // initialisation).
  const Plan forward = load_plan_for_schedule("flash1-printed", TILESCOPE_SOURCE_DIR);
  const double expected[] = {7.12e9, 3.77e9, 2.09e9, 1.25e9};
  for (int i = 0; i < 4; ++i)
    CHECK(static_cast<double>(bytes_of_schedule(forward, 64, 64 << i).total) ==
          doctest::Approx(expected[i]).epsilon(0.005));
}

TEST_CASE("standard attention moves 25.2 GB as printed and 40.3 GB with the passes of mask and dropout") {
  const std::int64_t n = 1024, d = 64, heads = 64 * 16, matrix = 2 * heads * n * n, rows = 2 * heads * n * d;
  // Algorithm 0 from its schedule, with every array whole: read Q and K, write and read S, write and read P, read V,
  // write O.
  const std::int64_t forward = bytes_of_schedule(load_plan_for_schedule("standard", TILESCOPE_SOURCE_DIR), n, n).total;
  CHECK(forward == 4 * matrix + 4 * rows);
  // Algorithm 3 has no schedule here. Its passes are those that the paper prints, over whole arrays of n x n and of n x
  // d.
  const struct {
    const char* pass;
    std::int64_t matrices, vectors;
  } printed[] = {{"dV = P^T dO", 1, 2},
                 {"dP = dO V^T", 1, 2},
                 {"dS = P (dP - D)", 3, 0},
                 {"dQ = dS K", 1, 2},
                 {"dK = dS^T Q", 1, 2}};
  std::int64_t bytes = forward;
  for (const auto& pass : printed) bytes += pass.matrices * matrix + pass.vectors * rows;
  CHECK(bytes == 11 * matrix + 12 * rows);
  CHECK(static_cast<double>(bytes) == doctest::Approx(25.23e9).epsilon(0.001));
  // The paper measures with a key-padding mask and dropout, and states no passes. One accounting fits: the mask and
  // dropout are each a pass that reads and writes the matrix. Dropout also keeps a mask of one byte a value, which the
  // forward pass writes and the backward pass reads.
  const std::int64_t byte_mask = matrix / 2;
  bytes += 2 * matrix;              // mask
  bytes += 2 * matrix + byte_mask;  // dropout
  bytes += 2 * matrix + byte_mask;  // backward pass of dropout
  CHECK(static_cast<double>(bytes) == doctest::Approx(40.27e9).epsilon(0.001));
  CHECK(static_cast<double>(bytes) == doctest::Approx(published_standard).epsilon(0.002));
}

TEST_CASE("figure 2's GFLOP row cannot be reproduced: the shape has more than twelve times as many GFLOP") {
  const std::int64_t flash =
      bytes_of_schedule(load_plan_for_schedule("flash1-printed", TILESCOPE_SOURCE_DIR), 64, 384).model_flop +
      bytes_of_schedule(printed_backward(), 64, 384).model_flop;
  const std::int64_t forward =
      bytes_of_schedule(load_plan_for_schedule("standard", TILESCOPE_SOURCE_DIR), 128, 128).model_flop;
  CHECK(static_cast<double>(flash) == doctest::Approx(962.1e9).epsilon(0.001));
  CHECK(static_cast<double>(3 * forward) ==
        doctest::Approx(824.6e9).epsilon(0.001));  // backward pass without recomputing S: four contractions
  CHECK(static_cast<double>(flash) / 75.2e9 == doctest::Approx(12.8).epsilon(0.01));
  CHECK(static_cast<double>(3 * forward) / 66.6e9 == doctest::Approx(12.4).epsilon(0.01));
}

// V. Abbott, G. Zardini, FlashAttention on a Napkin, arXiv 2412.03317 v2: one query row against 64 keys of fp8, head
// dimension 128. FlashAttention-4, arXiv 2603.05451, table 1: 128 rows against 128 keys, scores and outputs in tensor
// memory. `tilescope lower` finds the same from models/lowerings; here they follow from the schedule alone.
TEST_CASE("clocks of a step: Napkin's 2 + 4 = 6 and 65 / 16, 1.32 PFLOP/s; FlashAttention-4's 1024, 768 and 1024") {
  const Plan plan = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  const auto predicted = [&](const char* gpu, std::int64_t keys, bool quantised, HardwareProfile& hardware) {
    hardware = find_profile(gpu, std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
    Point point = default_point(plan);
    point.workload = {1, 16, 16, 4096, 4096, 128, 128};
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("q"))] = 128;
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("kv"))] = keys;
    for (const char* array : {"Q", "K"})
      if (quantised)
        point.dtypes[static_cast<std::size_t>(index(*plan.schedule.diagram.find_array(array)))].format =
            Format::fp8_e4m3;
    return predict(plan, hardware, point);
  };
  HardwareProfile hardware;
  const Prediction napkin = predicted("h100_sxm", 64, true, hardware);
  const double tensor = napkin.time.seconds[static_cast<std::size_t>(Resource::tensor)], steps = 16 * 4096.0 * 64,
               clocks = hardware.tensor_hz ? hardware.tensor_hz->value : hardware.boost_hz->value;
  CHECK(tensor * clocks * static_cast<double>(hardware.units.value) / steps == doctest::Approx(6).epsilon(1e-6));
  CHECK(static_cast<double>(napkin.work.exp) / steps / hardware.exp2_per_cycle->value == 65.0 / 16);
  CHECK(static_cast<double>(napkin.work.tensor_flop) / tensor == doctest::Approx(1.319e15).epsilon(1e-3));
  const Prediction four = predicted("b200_sxm", 128, false, hardware);
  const double tiles = 16 * 32.0 * 32;
  CHECK(static_cast<double>(four.work.tensor_flop) / tiles / hardware.tensor_flop_per_cycle.at(Format::fp16).value ==
        1024);
  CHECK(static_cast<double>(four.operand_bytes) / tiles /
            hardware.level(LevelId::smem)->bandwidth_bytes_per_cycle->value ==
        768);
  constexpr double rescaling = 128;  // an exponential a row and step, which the paper leaves out
  CHECK((static_cast<double>(four.work.exp) / tiles - rescaling) / hardware.exp2_per_cycle->value == 1024);
}

TEST_CASE(
    "the backward pass has 2.5 times the model FLOP of the forward pass and executes five or seven contractions") {
  // Convention of the papers: FlashAttention-2, section 4.1. If d_qk and d_v differ, the count is 2 (3 d_qk + 2 d_v) a
  // pair, as in cuDNN's benchmark.
  const auto predicted = [](const char* schedule, Workload workload) {
    const Plan plan = load_plan_for_schedule(schedule, TILESCOPE_SOURCE_DIR);
    Point point = default_point(plan);
    point.workload = workload;
    Prediction prediction;
    predict(plan, nothing_cached(), point, prediction);
    return prediction;
  };
  const Workload even{2, 8, 8, 1024, 1024, 128, 128}, uneven{2, 8, 8, 1024, 1024, 192, 128};
  const std::int64_t forward = predicted("flash2", even).work.model_flop, pairs = 2 * 8 * 1024 * 1024;
  CHECK(forward == 2 * pairs * (128 + 128));
  for (const char* schedule : {"flash1-backward", "flash2-backward", "flash2-backward-split"}) {
    CAPTURE(schedule);
    const Prediction prediction = predicted(schedule, even);
    CHECK(2 * prediction.work.model_flop == 5 * forward);
    const bool split = std::string(schedule) == "flash2-backward-split";
    CHECK(prediction.work.tensor_flop == 2 * pairs * 128 * (split ? 7 : 5));
    CHECK(predicted(schedule, uneven).work.model_flop == 2 * pairs * (3 * 192 + 2 * 128));
  }
}

}  // namespace tilescope::predict_published_test
