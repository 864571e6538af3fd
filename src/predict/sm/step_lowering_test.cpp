// Synthesised programs: random steps, executed and counted.
#include "predict/sm/step_lowering.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "base/test_seed.h"
#include "predict/point/code_of.h"
#include "predict/point/products.h"
#include "predict/sm/simulated_step.h"
#include "predict/textbook.h"
#include "simulate/step_programs.h"
#include "simulate/step_text.h"

namespace step_lowering_test {

using namespace tilescope;

namespace {

// Instructions of a section by the first word of their opcode.
std::map<std::string, int> counted(const std::string& program, const std::string& section) {
  std::map<std::string, int> counts;
  std::istringstream lines(program);
  std::string line, now;
  while (std::getline(lines, line)) {
    if (line.find(' ') == line.npos) {
      now = line;
      continue;
    }
    if (now != section) continue;
    std::istringstream words(line);
    std::string word;
    for (int control = 0; control < 5; ++control) words >> word;
    words >> word;
    if (word.starts_with('@')) words >> word;
    ++counts[word.substr(0, word.find('.'))];
  }
  return counts;
}

template <class Random>
WarpStep random_step(Random& random) {
  const auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  WarpStep step;
  step.wgmma = number(0, 1);
  const int products = number(2, 4), of_scores = number(1, products - 1);
  for (int i = 0; i < products; ++i) {
    ProductStep& product = step.products.emplace_back();
    product.format = number(0, 1) ? Format::fp16 : Format::bf16;
    product.mma = step.wgmma ? MmaShape{64, 8 * number(4, 16), 16} : MmaShape{16, 8, 16};
    product.of_scores = i < of_scores, product.a_in_shared = product.of_scores;
    product.depth = number(1, 6), product.instructions = product.depth * number(1, step.wgmma ? 2 : 8);
    product.loads = step.wgmma ? 0 : number(0, 12);
  }
  for (VectorOps* ops : {&step.scores, &step.outputs, &step.once})
    for (int VectorOps::*each : vector_ops) ops->*each = number(0, 40);
  step.outputs.shuffle = step.outputs.xu = 0;  // results have none in a step
  step.threads.alu = number(0, 40);
  step.bulk = step.wgmma, step.lockstep = number(0, 1), step.copies = number(0, 8), step.first_copies = number(0, 8);
  step.pipelined = step.wgmma && products == 2 && number(0, 1);
  step.products_in_turn = step.wgmma && products == 2 && number(0, 1);
  step.waits_each = step.wgmma && number(0, 3) == 0;
  step.parts = step.pipelined || step.products_in_turn ? 1 : number(1, 2);
  step.shared_stores = number(0, 4), step.shared_loads = number(0, 8), step.shared_words = number(0, 8);
  step.sums = number(0, 3), step.global_stores = number(0, 3);
  step.spills_loaded = number(0, 6), step.spill_waits = step.spills_loaded > 0, step.spills_stored = number(0, 6);
  step.barriers = number(0, 6);
  step.loads_in_product = !step.wgmma && number(0, 1);
  if (!step.loads_in_product) return step;
  step.copies = 0;
  for (ProductStep& product : step.products)
    product.copies = number(0, 4), product.early = number(0, 1), step.copies += product.copies;
  return step;
}

}  // namespace

TEST_CASE("a synthesised program has the instructions of the step, and takes as long as its busiest unit at least") {
  const HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  std::mt19937 random(test_seed());
  for (int i = 0; i < 40; ++i) {
    const WarpStep step = random_step(random);
    const std::string program = lowered_step(step, 24);
    CAPTURE(program);
    const auto found = counted(program, "step");
    const auto of = [&](const char* opcode) {
      const auto known = found.find(opcode);
      return known == found.end() ? 0 : known->second;
    };
    const auto both = [&](int VectorOps::*each) { return step.scores.*each + step.outputs.*each; };
    const bool rotated = step.pipelined || step.products_in_turn;
    CHECK(of("MUFU") == step.scores.xu);
    CHECK(of("FFMA") == both(&VectorOps::ffma));
    CHECK(of("FADD") == both(&VectorOps::fadd));
    CHECK(of("FMUL") == both(&VectorOps::fmul));
    CHECK(of("F2FP") == both(&VectorOps::conversion));
    CHECK(of("SHFL") == step.scores.shuffle);
    CHECK(of("IADD3") == step.threads.alu);
    CHECK(of("FMNMX") == both(&VectorOps::alu) + step.scores.shuffle);  // what comes is joined with what was there
    CHECK(of("LDGSTS") == (step.bulk ? 0 : step.copies));
    if (!rotated) CHECK(of("BAR") == step.lockstep + step.parts * step.barriers);
    if (!rotated && step.wgmma) CHECK(of("STS") == step.shared_stores);
    if (!rotated) CHECK(of("LDS") == step.shared_loads + step.shared_words);
    if (step.wgmma && !rotated)
      CHECK(of("MEMBAR") == (step.shared_stores > 0 ? std::min(step.parts, step.shared_stores) : 0));
    CHECK(of("RED") == step.sums);
    CHECK(of("STG") == step.global_stores);
    CHECK(of("LDL") == step.spills_loaded);
    CHECK(of("STL") == step.spills_stored);
    int products = 0, loads = 0;
    double tensor = 0;
    for (const ProductStep& product : step.products) {
      const MmaShape& mma = product.mma;
      products += product.instructions, loads += product.loads;
      tensor += product.instructions * static_cast<double>(mma.m * mma.n * mma.k) * 2 / (step.wgmma ? 4096 : 1024);
    }
    CHECK(of("HMMA") + of("HGMMA") == products);
    CHECK(of("LDSM") == loads);
    CHECK(counted(program, "end").at("NOP") == 1);

    const StepPrograms programs("random", program);
    constexpr int warps = 8, a_scheduler = warps / 4;
    const auto clocks = [&](int resident) {
      return programs.clocks({.symbol = "any",
                              .masked = false,
                              .warps = warps,
                              .resident = resident,
                              .copies_from = CopySource::l2,
                              .local_missed = 0},
                             hardware);
    };
    const double one = clocks(1), two = clocks(2);
    // A scheduler's tensor core multiplies and adds 512 values a clock with mma.sync, twice as many with wgmma.
    CHECK(one >= 0.99 * a_scheduler * std::max(8.0 * step.scores.xu, tensor));
    CHECK(two >= 0.99 * one);
    CHECK(two <= 2.5 * one);  // they also wait for each other
  }
}

TEST_CASE("products that copy their own operands meet at each place; copies of an early one start before the scores") {
  std::mt19937 random(test_seed());
  const auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int i = 0; i < 10; ++i) {
    WarpStep step;
    step.loads_in_product = true;
    for (const bool of_scores : {true, false}) {
      ProductStep& product = step.products.emplace_back();
      product.mma = {16, 8, 8}, product.of_scores = of_scores, product.early = !of_scores;
      product.depth = number(2, 6), product.instructions = 2 * product.depth, product.copies = number(1, 8);
    }
    step.scores.xu = number(1, 16);
    step.copies = step.products[0].copies + step.products[1].copies;
    step.barriers = step.products[0].depth + step.products[1].depth;
    std::string order;  // a letter an instruction: Copy, Wait for copies, Barrier, Matrix, eXponential
    std::istringstream program(lowered_step(step, 18));
    for (std::string line; std::getline(program, line) && line != "start";)
      for (const auto& [opcode, letter] : {std::pair("LDGSTS", 'C'), std::pair(" DEPBAR", 'W'),
                                           std::pair("BAR.SYNC", 'B'), std::pair("HMMA", 'M'), std::pair("MUFU", 'X')})
        if (line.find(opcode) != line.npos) order += letter;
    const auto places = [](int barriers, const ProductStep& product) {
      std::string all;
      for (int place = 0; place < product.depth; ++place)
        all += std::string(
                   static_cast<std::size_t>(barriers * (place + 1) / product.depth - barriers * place / product.depth),
                   'B') +
               "MM";
      return all;
    };
    const auto times = [](int count, char letter) { return std::string(static_cast<std::size_t>(count), letter); };
    const int first = step.barriers / 2;
    CHECK(order == times(step.products[0].copies, 'C') + "W" + places(first, step.products[0]) +
                       times(step.products[1].copies, 'C') + times(step.scores.xu, 'X') + "W" +
                       places(step.barriers - first, step.products[1]));
  }
}

TEST_CASE("what a warp does in a step adds up to the counts of the launch") {
  const HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  std::mt19937 random(test_seed());
  for (const char* kernel : {"fused_mma", "fused_wgmma", "flash1", "backward", "pytorch_flash2", "pytorch_efficient"}) {
    CAPTURE(kernel);
    const Plan plan = load_plan_for_kernel(kernel, data);
    const auto& variants = plan.kernel.variants;
    for (int i = 0; i < 4; ++i) {
      const KernelVariant& variant =
          variants[std::uniform_int_distribution<std::size_t>(0, variants.size() - 1)(random)];
      Point point = attention(plan, 8, 128 * std::uniform_int_distribution<int>(4, 24)(random), variant.tile_q,
                              variant.tile_kv, variant.warps);
      point.workload.d_qk = point.workload.d_v = variant.head_dim > 0 ? variant.head_dim : 128;
      const Staged stages = staged(plan, hardware, point);
      for (const LaunchAtSm& launch : stages.launches) {
        const BoundIsland& bound = launch.bound;
        if (!bound.how.uses_tensor_cores()) continue;
        const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)),
                     warps = static_cast<double>(consumer_warps(bound)), warp_steps = steps * warps,
                     warps_of_grid = warps * static_cast<double>(grid_blocks(bound));
        const WarpStep step = warp_step(launch, steps);
        const auto all = [&](Pipe pipe, int VectorOps::*of) {
          const double counted = static_cast<double>(launch.counts.work.pipes[static_cast<std::size_t>(pipe)]) / 32,
                       listed = (step.scores.*of + step.outputs.*of + step.threads.*of) * warp_steps +
                                step.once.*of * warps_of_grid;
          // Each of four numbers is a whole one.
          return std::abs(listed - counted) <= 0.51 * (3 * warp_steps + warps_of_grid) && counted >= 0;
        };
        CHECK(all(Pipe::xu, &VectorOps::xu));
        CHECK(all(Pipe::ffma, &VectorOps::ffma));
        CHECK(all(Pipe::fmul, &VectorOps::fmul));
        CHECK(all(Pipe::conversion, &VectorOps::conversion));
        if (step.loads_in_product) {
          int copies = 0;
          for (const ProductStep& product : step.products) copies += product.copies;
          CHECK(copies == step.copies);
          CHECK(step.first_copies == 0);
          CHECK(!step.products.front().early);
          CHECK(step.products.back().early);  // V's
        }
        double flop = 0;
        for (const ProductStep& product : step.products)
          flop += product.instructions * static_cast<double>(product.mma.m * product.mma.n * product.mma.k) * 2;
        flop *= steps * (step.wgmma ? warps / 4 : warps);
        CHECK(flop == doctest::Approx(static_cast<double>(launch.counts.work.tensor_flop)).epsilon(0.05));
      }
    }
  }
}

TEST_CASE("a kernel without machine code is simulated with a synthesised program, where the profile has its rates") {
  const HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  const Plan plan = load_plan_for_kernel("pytorch_efficient", data);
  Point point = attention(plan, 16, 4096, 64, 128, 8);
  const auto seconds = [&](SmEngine engine, const HardwareProfile& on) {
    point.time.engine = engine;
    return predicted(plan, on, point).time.total;
  };
  const double simulated = seconds(SmEngine::simulated, hardware);
  CHECK(simulated == seconds(SmEngine::synthesised, hardware));
  HardwareProfile without = hardware;
  without.measured->tensor.mma.clear(), without.measured->tensor.wgmma_smem.clear();
  CHECK(seconds(SmEngine::simulated, without) != simulated);  // the stations of an ideal kernel
}

TEST_CASE("a step has the instructions that a descriptor states, those on no pipe among them") {
  const HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  const Plan plan = load_plan_for_kernel("cudnn_forward", data);
  for (const std::int64_t size : {64, 128, 256}) {
    CAPTURE(size);
    Point point = attention(plan, 8, 2048, 128, 128, 12);
    point.workload.d_qk = point.workload.d_v = size;
    const Staged stages = staged(plan, hardware, point);
    const LaunchAtSm& launch = stages.launches.front();
    const BoundIsland& bound = launch.bound;
    const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true));
    const WarpStep step = warp_step(launch, steps);
    const auto& pipes = launch.counts.work.pipes;
    const double all = static_cast<double>(std::accumulate(pipes.begin(), pipes.end(), std::int64_t{0})) / 32;
    CHECK(all / steps / static_cast<double>(consumer_warps(bound)) == doctest::Approx(step.instructions).epsilon(0.01));
    int listed = 0;
    for (const auto& [opcode, count] : counted(lowered_step(step, 33), "step")) listed += count;
    CHECK(listed == step.instructions);
  }
}

TEST_CASE("warpgroups that take turns between their products begin apart; in turns at the products they do not") {
  const SmMachine machine(find_profile("h100_sxm", data / "hardware"));
  std::mt19937 random(test_seed());
  int of_scores = 0, of_products = 0;
  for (int i = 0; i < 200; ++i) {
    WarpStep step = random_step(random);
    if (!step.wgmma || step.products.size() != 2) continue;
    step.lockstep = false, step.barriers = 0, step.scores_in_turn = !step.products_in_turn && i % 2 == 0;
    const std::string text = lowered_step(step, 33);
    const StepProgram program = step_text::read(text, "a test", "a test");
    const SmProgram all{step_text::operations(machine, program, program.step, 8), 8};
    const Warpgroups warpgroups = warpgroups_of(all);
    CHECK((warpgroups == Warpgroups::together) == step.products_in_turn);
    CHECK((warpgroups == Warpgroups::free) == (!step.products_in_turn && !step.scores_in_turn));
    of_scores += step.scores_in_turn, of_products += step.products_in_turn;
  }
  CHECK(of_scores > 0);
  CHECK(of_products > 0);
}

}  // namespace step_lowering_test
