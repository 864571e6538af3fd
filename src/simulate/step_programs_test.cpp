// Programs of shipped kernels, which predict simulates.
#include "simulate/step_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/test_seed.h"
#include "simulate/unpack_steps.h"

namespace step_programs_test {

using namespace tilescope;

namespace {

const std::filesystem::path kernels = std::string(TILESCOPE_SOURCE_DIR) + "/kernels";

HardwareProfile measured_gpu() { return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"); }

StepQuestion first_of(const std::filesystem::path& code, int resident) {
  const auto all = nlohmann::json::parse(read_file(code.string()));
  const auto& kernel = all["kernels"].at(0);
  return {.symbol = kernel["kernel"], .masked = false, .warps = kernel["warps"], .resident = resident};
}

}  // namespace

TEST_CASE("every kernel with a file of steps has a program for each of its instances") {
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kernels)) {
    const std::string file = entry.path().string();
    if (!file.ends_with("steps.zst")) continue;
    const StepPrograms programs(file);
    const auto code =
        nlohmann::json::parse(read_file(file.substr(0, file.size() - std::string("steps.zst").size()) + "code.json"));
    for (const auto& kernel : code["kernels"]) {
      if (!kernel.contains("variant")) continue;
      ++found;
      CHECK_MESSAGE(programs.has(kernel["kernel"]), kernel["kernel"].get<std::string>());
    }
  }
  CHECK(found >= 20);
}

TEST_CASE("programs of shipped kernels state the hint to yield of each instruction; a reader would guess it") {
  int lines = 0, without = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kernels)) {
    if (!entry.path().string().ends_with("steps.zst")) continue;
    std::istringstream text(unpacked_steps(read_file(entry.path().string()), entry.path()));
    for (std::string line; std::getline(text, line);) {
      if (line.empty() || line.front() < '0' || line.front() > '9') continue;  // names of programs and sections
      std::istringstream numbers(line);
      int number = 0, count = 0;
      while (numbers >> number) ++count;
      ++lines, without += count != 5;
    }
  }
  CHECK(lines > 10'000);
  CHECK(without == 0);
}

TEST_CASE("more blocks on an SM take longer a step and less a block; masked steps and block ends take time") {
  const StepPrograms programs(kernels / "fused_mma" / "steps.zst");
  StepQuestion question = first_of(kernels / "fused_mma" / "code.json", 1);
  const double one = programs.clocks(question, measured_gpu());
  question.resident = 4;
  const double four = programs.clocks(question, measured_gpu());
  CHECK(four > one);
  CHECK(four < 4 * one);
  CHECK(programs.clocks(question, measured_gpu()) == four);  // kept
  CHECK(programs.around(question, measured_gpu()) > 0);
  question.masked = true;
  CHECK(programs.clocks(question, measured_gpu()) > four);
}

TEST_CASE("what a tile of a block that stays takes beside its steps is simulated, and is less than six steps") {
  const HardwareProfile gpu = measured_gpu();
  int found = 0, told = 0;
  for (const char* name : {"fused_wgmma/", "fused_fp8/", "fused_fp8/fused_fp8_qk.", "fused_fp8/fused_fp8_vt."}) {
    const std::string file = (kernels / name).string();
    const auto code = nlohmann::json::parse(read_file(file + "code.json"));
    const StepPrograms programs(file + "steps.zst");
    for (const auto& kernel : code["kernels"]) {
      if (!kernel.contains("variant")) continue;
      const std::string symbol = kernel["kernel"];
      CAPTURE(symbol);
      const StepQuestion question{.symbol = symbol, .stays = true, .warps = kernel["warps"], .resident = 1};
      const double tile = programs.around(question, gpu), last = programs.after(question, gpu);
      CHECK(last > 0);
      ++found, told += tile > 0;
      if (found % 4 == 0) CHECK(tile < 6 * programs.clocks(question, gpu));
    }
  }
  CHECK(found >= 35);
  CHECK(told >= found - 1);  // three warpgroups of an fp8 kernel take longer at first than later
}

TEST_CASE("a GPU with a faster pipe takes fewer clocks, and is not answered with those of another GPU") {
  const StepPrograms programs(kernels / "fused_mma" / "steps.zst");
  const StepQuestion question = first_of(kernels / "fused_mma" / "code.json", 4);
  HardwareProfile faster = measured_gpu();
  faster.measured->smem.ldmatrix->value /= 2;
  const double slow = programs.clocks(question, measured_gpu()), fast = programs.clocks(question, faster);
  CHECK(fast < slow);
}

TEST_CASE("a unit that is a tenth faster shortens a step as much as a profile that says so") {
  const StepPrograms programs(kernels / "fused_mma" / "steps.zst");
  int shorter = 0;
  for (const int resident : {1, 2, 4}) {
    StepQuestion question = first_of(kernels / "fused_mma" / "code.json", resident);
    question.few = true;
    const double usual = programs.clocks(question, measured_gpu());
    const auto compare = [&](SmFaster unit, const auto& change) {
      HardwareProfile faster = measured_gpu();
      change(*faster.measured);
      StepQuestion own = question;
      own.faster = unit;
      const double clocks = programs.clocks(own, measured_gpu());
      CHECK(clocks == doctest::Approx(programs.clocks(question, faster)).epsilon(0.001));
      shorter += clocks < usual;
    };
    compare(SmFaster::xu, [](MeasuredRates& rates) { rates.pipes.ex2->value *= sm_faster_by; });
    compare(SmFaster::fma, [](MeasuredRates& rates) {
      for (auto* each : {&rates.pipes.ffma, &rates.pipes.fadd, &rates.pipes.fmul}) (*each)->value *= sm_faster_by;
    });
  }
  CHECK(shorter > 1);
}

TEST_CASE("an instance without a program has no clocks, and a damaged file is refused") {
  CHECK(
      StepPrograms(kernels / "none" / "steps.zst").clocks({.symbol = "f", .warps = 4, .resident = 1}, measured_gpu()) ==
      0);
  CHECK_FALSE(StepPrograms(kernels / "fused_mma" / "steps.zst").has("f"));
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tilescope_damaged_steps.zst";
  std::ofstream(file) << "no steps";
  CHECK_THROWS_AS((void)StepPrograms(file).has("f"), InputError);
  std::filesystem::remove(file);
}

TEST_CASE("a program that a descriptor has in its own text is answered like one of a file") {
  const std::string file = (kernels / "fused_mma" / "steps.zst").string();
  const StepQuestion question = first_of(kernels / "fused_mma" / "code.json", 2);
  const std::string all = unpacked_steps(read_file(file), file);
  const std::size_t start = all.find('\n', all.find("# " + question.symbol)) + 1;
  const StepPrograms own("mine.yaml", all.substr(start, all.find("\n# ", start) + 1 - start));
  CHECK(own.clocks(question, measured_gpu()) == StepPrograms(file).clocks(question, measured_gpu()));
  CHECK(own.around(question, measured_gpu()) == StepPrograms(file).around(question, measured_gpu()));
  CHECK_THROWS_WITH_AS(StepPrograms("mine.yaml", "step\nno instruction\n").has("a"), doctest::Contains("mine.yaml"),
                       InputError);
}

TEST_CASE("the listing of a step adds up to its clocks") {
  const StepPrograms programs(kernels / "fused_mma" / "steps.zst");
  const StepQuestion question = first_of(kernels / "fused_mma" / "code.json", 2);
  const StepPrograms::Listed listed = programs.listed(question, measured_gpu(), 2);
  const SimulatedLoop& loop = listed.simulation.loops.at(0);
  CHECK(loop.steady.clocks == programs.clocks(question, measured_gpu()));
  REQUIRE(loop.steady.waits.size() == listed.code.section.instructions.size());
  double held = 0;
  for (const auto& row : loop.steady.waits)
    for (const double clocks : row) held += clocks;
  CHECK(held == doctest::Approx(loop.steady.clocks).epsilon(0.02));
  CHECK_FALSE(loop.steady.events.empty());
}

TEST_CASE("the listing of a step that waits for warps of another role has their pace, and shows the wait") {
  const auto all = nlohmann::json::parse(read_file((kernels / "fused_fp8" / "code.json").string()));
  const StepPrograms programs(kernels / "fused_fp8" / "steps.zst");
  const StepQuestion question{.symbol = all["kernels"].back()["kernel"], .warps = 8, .resident = 1};
  const SimulatedLoop loop = programs.listed(question, measured_gpu(), 2).simulation.loops.at(0);
  CHECK(loop.steady.clocks == doctest::Approx(programs.clocks(question, measured_gpu())).epsilon(0.02));
  double waited = 0;
  for (const auto& row : loop.steady.waits) waited += row[static_cast<std::size_t>(SmWait::barrier)];
  CHECK(waited > 0.05 * loop.steady.clocks);
  for (const SmEvent& event : loop.steady.events) CHECK(event.operation < loop.path.size());
}

TEST_CASE("answers are the same whoever asks first, and those of a simulation that counts what it goes through") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  struct Case {
    StepPrograms* together;
    StepPrograms* alone;
    StepQuestion question;
  };
  const HardwareProfile gpu = measured_gpu();
  std::vector<std::unique_ptr<StepPrograms>> programs;
  std::vector<Case> cases;
  for (const std::string name : {"fused_mma", "case_study", "fused_wgmma"}) {
    const std::filesystem::path file = kernels / name / "steps.zst";
    const auto code = nlohmann::json::parse(read_file((kernels / name / "code.json").string()))["kernels"];
    programs.push_back(std::make_unique<StepPrograms>(file)), programs.push_back(std::make_unique<StepPrograms>(file));
    for (int i = 0; i < 4; ++i) {
      const auto& kernel = code.at(random() % code.size());
      if (!kernel.contains("variant")) continue;
      const StepQuestion question{.symbol = kernel["kernel"],
                                  .masked = false,
                                  .warps = kernel["warps"],
                                  .resident = 1 + static_cast<int>(random() % 3),
                                  .copies_from = random() % 2 == 0 ? CopySource::l2 : CopySource::hbm};
      for (int again = 0; again < 2; ++again)
        cases.push_back({programs[programs.size() - 2].get(), programs.back().get(), question});
    }
  }
  std::shuffle(cases.begin(), cases.end(), random);
  std::vector<std::array<double, 4>> found(cases.size());
  const auto answers = [&](const StepPrograms& of, const StepQuestion& question) {
    return std::array{of.clocks(question, gpu), of.around(question, gpu), of.before(question, gpu),
                      of.after(question, gpu)};
  };
  at_once(cases.size(), [&](std::size_t i) { found[i] = answers(*cases[i].together, cases[i].question); });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CHECK(found[i] == answers(*cases[i].alone, cases[i].question));
    CHECK(found[i][0] == cases[i].alone->listed(cases[i].question, gpu, 0).simulation.loops.at(0).steady.clocks);
  }
}

TEST_CASE(
    "copies from memory take what a simulation of their own finds, whether or not copies from the L2 came first") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  int differ = 0, same = 0;
  for (const std::string name : {"fused_mma", "split_kv", "case_study", "fused_mma"}) {
    const std::filesystem::path file = kernels / name / "steps.zst";
    if (!std::filesystem::exists(file)) continue;
    const auto code = nlohmann::json::parse(read_file((kernels / name / "code.json").string()))["kernels"];
    const auto& kernel = code.at(random() % code.size());
    if (!kernel.contains("variant")) continue;
    StepQuestion near{.symbol = kernel["kernel"],
                      .masked = random() % 2 == 0,
                      .warps = kernel["warps"],
                      .resident = static_cast<int>(1 + random() % 3),
                      .copies_from = CopySource::l2};
    StepQuestion far = near;
    far.copies_from = CopySource::hbm;
    const StepPrograms both(file), alone(file);
    const HardwareProfile gpu = measured_gpu();
    INFO(name << " " << near.symbol << " " << near.resident);
    const double near_step = both.clocks(near, gpu), near_around = both.around(near, gpu);
    const double step = both.clocks(far, gpu), around = both.around(far, gpu);
    CHECK(step == alone.clocks(far, gpu));
    CHECK(around == alone.around(far, gpu));
    (step == near_step && around == near_around ? same : differ) += 1;
  }
  MESSAGE(same << " the same, " << differ << " differ");
}

}  // namespace step_programs_test
