// inspect with a program that prints committed listings in the place of nvdisasm: CI has none.
#include <sys/stat.h>

#include "cli/run_program.h"
#include "kernel/code/testdata/test_kernels.h"
#include "predict/explain/json.h"
#include "records/capture/capture_lines.h"

namespace inspect_command_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

// A cubin of the test kernels and a program that prints its listing.
class CommittedKernel {
 public:
  explicit CommittedKernel(const std::string& kernel, const std::string& edit = "") : cubin_(folder_ / "kernel.cubin") {
    write_file(cubin_, unpacked_test_file(kernel + ".cubin"));
    write_file(folder_ / "listing", unpacked_test_file(kernel + ".sass") + edit);
    write_file(program(), "#!/bin/sh\ncat '" + (folder_ / "listing") + "'\n");
    REQUIRE(chmod(program().c_str(), 0755) == 0);
  }
  std::string program() const { return folder_ / "disassembler"; }
  std::string command() const { return "inspect " + cubin_ + " --nvdisasm " + program(); }
  const std::string& cubin() const { return cubin_; }

 private:
  ScratchFolder folder_;
  std::string cubin_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("inspect shows roles, loops and matrix instructions of a kernel") {
  const Outcome outcome = run_program(CommittedKernel("fused_wgmma").command());
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(has(outcome.out, "tilescope::kernels::fused_wgmma::forward<__half, 128, 2, 128, 2, true>\n"));
  CHECK(has(outcome.out, "c     4-11         240         2,168"));
  CHECK(has(outcome.out, "0x40a0      8  HGMMA 64x128x16  F16       F32     register, shared  2,097,152"));
  CHECK(has(outcome.out, "26 loops only wait for a barrier or for registers.\n"));
}

TEST_CASE("inspect writes machine code as JSON, with each instruction on request") {
  const CommittedKernel kernel("split_kv");
  const Json code = Json::parse(run_program(kernel.command() + " --format json").out)["kernels"][0]["code"];
  CHECK(code["loops"].size() == 1);
  CHECK(code["loops"][0]["always"]["tensor_flop"] == 65536);
  CHECK_FALSE(code.contains("instruction_list"));
  const Json all = Json::parse(run_program(kernel.command() + " --instructions --format json").out);
  const Json list = all["kernels"][0]["code"]["instruction_list"];
  CHECK(list.size() == all["kernels"][0]["instructions"]);
  CHECK(list[0]["text"] == "LDC R1, c[0x0][0x28]");
  CHECK(list[0]["writes"] == Json{"R1"});
}

TEST_CASE("a disassembler that is not there is refused") {
  const CommittedKernel kernel("split_kv");
  const Outcome outcome = run_program("inspect " + kernel.cubin() + " --nvdisasm /no/such/program");
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "error: --nvdisasm: '/no/such/program' is not a program that can be run\n");
  CHECK(outcome.out == "");
}

TEST_CASE("a disassembler that fails, prints nonsense, or lists another file is a clear error") {
  const CommittedKernel other("fused_wgmma"), kernel("split_kv"), damaged("split_kv", "/*zz*/ EXIT ;\n");
  const Outcome failed = run_program("inspect " + kernel.cubin() + " --nvdisasm /bin/false");
  CHECK(failed.status == 2);
  CHECK(has(failed.err, "/bin/false cannot disassemble it (status 1)"));
  const Outcome nonsense = run_program("inspect " + kernel.cubin() + " --nvdisasm /bin/echo");
  CHECK(nonsense.status == 2);
  CHECK(has(nonsense.err, "expected the listing of nvdisasm -c, found no section of code"));
  const Outcome wrong = run_program("inspect " + kernel.cubin() + " --nvdisasm " + other.program());
  CHECK(wrong.status == 2);
  CHECK(has(wrong.err, "nvdisasm lists no code of"));
  const Outcome cut = run_program(damaged.command());
  CHECK(cut.status == 2);
  CHECK(has(cut.err, "expected the address of an instruction, found 'zz'"));
}

TEST_CASE("inspect --hardware adds what binds each innermost loop, and refuses another GPU") {
  const CommittedKernel kernel("split_kv");
  const Outcome text = run_program(kernel.command() + " --hardware h200_sxm");
  CHECK(text.status == 0);
  CHECK(has(text.out, "clocks of a pass of each innermost loop on h200_sxm, one warp on each scheduler\n"));
  const Json json =
      Json::parse(run_program(kernel.command() + " --hardware h200_sxm --instructions --format json").out);
  const Json bound = json["kernels"][0]["bounds"]["loops"][0];
  CHECK(bound["busiest"] == "issue");
  CHECK(bound["instruction_list"].size() == json["kernels"][0]["code"]["loops"][0]["always"]["instructions"]);
  const Outcome other = run_program(kernel.command() + " --hardware a100_sxm_80");
  CHECK(other.status == 2);
  CHECK(has(other.err, "--hardware: a100_sxm_80 has compute capability 8.0"));
}

TEST_CASE("inspect --simulate shows clocks of a pass, the listing with its waits, and writes a timeline") {
  const CommittedKernel kernel("split_kv");
  const ScratchFolder folder;
  const std::string simulate = kernel.command() + " --hardware h200_sxm --simulate --resident 2";
  const Outcome text = run_program(simulate + " --instructions --timeline " + folder / "sm.json");
  CHECK(text.err == "");
  CHECK(text.status == 0);
  CHECK(has(text.out, "simulated passes on h200_sxm, 2 blocks of 4 warps on an SM\n"));
  CHECK(has(text.out, "waits to issue, mean of a pass and warp\n"));
  CHECK(Json::parse(read_file(folder / "sm.json"))["otherData"]["resident_blocks"] == 2);
  const Json json = Json::parse(run_program(simulate + " --instructions --format json").out);
  const Json simulation = json["kernels"][0]["simulation"];
  double held = 0;
  for (const Json& each : simulation["loops"][0]["instruction_list"]) held += each["clocks"].get<double>();
  CHECK(held == doctest::Approx(simulation["loops"][0]["clocks"].get<double>())
                    .epsilon(0.03));  // where the state does not repeat: both are means over some 50 passes
  CHECK(run_program(kernel.command() + " --simulate").err ==
        "error: --simulate: needs the rates of a GPU: name one with --hardware\n");
  CHECK(has(run_program(kernel.command() + " --resident 2").err, "--resident: belongs to --simulate"));
  CHECK(has(run_program(simulate + " --through x9").err, "--through: expected addresses"));
  CHECK(has(run_program(simulate + " --blocks 5").err, "--blocks: needs the steps of a block: --steps"));
  const Json launch = Json::parse(run_program(simulate + " --steps 8 --blocks 500 --format json").out)["kernels"][0];
  const Json loop = launch["simulation"]["loops"][0];
  CHECK(loop["launch_clocks"].get<double>() > loop["block_clocks"].get<double>());
}

TEST_CASE("inspect of a capture shows the kernels that were launched, with the threads of their blocks") {
  const CommittedKernel kernel("triton_forward");
  const ScratchFolder folder;
  const std::string hash = "0123456789abcdef0123456789abcdef";
  capture::Capture captured;
  capture::CapturedProcess& process = captured.processes.emplace_back();
  process.pid = 1, process.started = "2026-11-23T15:04:05Z", process.command = {"prog"};
  process.driver = "13.0", process.cupti = "13.0.1";
  captured.modules.push_back({.hash = hash, .bytes = 100});
  for (const bool known : {true, false}) {  // of the other kernel nobody knows the module
    capture::CapturedKernel& launched = captured.kernels.emplace_back();
    launched.symbol = known ? "fwd" : "other", launched.module = known ? hash : "";
    capture::CapturedLaunch& launch = captured.launches.emplace_back();
    launch.kernel = known ? 0 : 1, launch.block = {known ? 128 : 256, 1, 1}, launch.count = 1;
  }
  std::filesystem::create_directory(folder / "cubins");
  write_file(folder / "capture.jsonl", capture::capture_lines(captured));
  write_file(folder / "cubins/" + hash + ".cubin", unpacked_test_file("triton_forward.cubin"));
  for (const std::string& place : {folder.path(), folder / "capture.jsonl"}) {
    const Outcome outcome = run_program("inspect " + place + " --format json --nvdisasm " + kernel.program());
    CHECK(outcome.err == "");
    REQUIRE(outcome.status == 0);
    const Json kernels = Json::parse(outcome.out)["kernels"];
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0]["kernel"] == "fwd");
    CHECK(kernels[0]["most_threads"] == 128);
    CHECK(kernels[0]["code"]["warps"] == 4);
  }
}

TEST_CASE("of a file with code that the disassembler does not know, the rest is read") {
  // The fat binary has code for 9.0, which is kernels.cubin, and longer code for 10.0.
  const std::string data = std::string(TILESCOPE_SOURCE_DIR) + "/src/kernel/code/testdata/";
  const ScratchFolder folder;
  const std::string program = folder / "disassembler";
  write_file(program, "#!/bin/sh\nif cmp -s \"$2\" " + data + "kernels.cubin; then exec cat " + data +
                          "kernels.sass; fi\necho unknown code >&2\nexit 1\n");
  REQUIRE(chmod(program.c_str(), 0755) == 0);
  const std::string command = "inspect " + data + "kernels.fatbin --name staged --format json --nvdisasm ";
  const Outcome outcome = run_program(command + program);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.err, "note: machine code for compute capability 10.0 was not read: "));
  CHECK(has(outcome.err, "cannot disassemble it (status 1): 'unknown code'"));
  const Json kernels = Json::parse(outcome.out)["kernels"];
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].contains("code"));
  CHECK_FALSE(kernels[1].contains("code"));
}

}  // namespace inspect_command_test
