// --kernel auto and --kernel pytorch: every command says which kernel answers; without --kernel it says that none does.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_program.h"

namespace kernel_choice_test {

using namespace tilescope::cli;
using nlohmann::json;

namespace {

const std::string point = " --hardware h200_sxm --heads 16 --head-dim 128 ";

json answer_of(const std::string& words) { return json::parse(run_program(words + " --format json").out); }

}  // namespace

TEST_CASE("a GPU on which auto finds no kernel is refused by reports and named in CSV, with the reason") {
  const ScratchFolder folder;
  const std::string point = " --kernel auto --q-len 4k --head-dim 128", file = folder / "r.json";
  const std::string why = "no kernel with a descriptor takes this point on mi300x";
  const Outcome alone = run_program("report --hardware mi300x -o " + file + point);
  CHECK(alone.status == 2);
  CHECK(alone.err.find("error: report: no point has a time: " + why) != std::string::npos);
  CHECK(run_program("report --hardware mi300x,h200_sxm --format json -o " + file + point).status == 0);
  CHECK(content_of(file).find(why) != std::string::npos);
  CHECK(run_program("predict --hardware mi300x --format csv" + point).out.find(why) != std::string::npos);
}

TEST_CASE("a lower bound says that it is one and borrows no error, and rates that a rule gave are named") {
  const std::string point = " --heads 16 --q-len 1k --head-dim 128";
  const Outcome bound = run_program("predict --hardware mi300x" + point);
  CHECK(bound.out.find("predicted at least ") != std::string::npos);
  CHECK(bound.out.find("This is a lower bound") != std::string::npos);
  CHECK(bound.out.find("error: ") == bound.out.find("error: no record"));  // that of HBM reads
  CHECK(bound.out.find("recorded kernels took") == std::string::npos);
  const std::string derived = "rates and energies of l40s are derived";
  CHECK(run_program("predict --hardware l40s" + point).out.find(derived) != std::string::npos);
  const Outcome measured = run_program("predict --hardware h200_sxm" + point);
  CHECK(measured.out.find("rates and energies of") == std::string::npos);
  CHECK(measured.out.find("recorded kernels took") != std::string::npos);
}

TEST_CASE("a prediction without a kernel says that its kernel is ideal, and what to do") {
  const Outcome text = run_program("predict" + point + "--q-len 1k");
  CHECK(text.out.starts_with("ideal kernel of schedule flash2 on"));
  CHECK(text.out.find("this is a hypothetical kernel of schedule 'flash2'; use --kernel auto for the fastest") !=
        std::string::npos);
  CHECK(answer_of("predict" + point + "--q-len 1k")["point"]["model_of"] == "ideal kernel");
  const json real = answer_of("predict" + point + "--q-len 1k --kernel fused_mma");
  CHECK(real["point"]["model_of"] == "kernel");
  CHECK_FALSE(real.contains("chosen"));
  CHECK(run_program("predict" + point + "--q-len 1k --kernel fused_mma").out.find("ideal") == std::string::npos);
}

TEST_CASE("--kernel auto takes the kernel that is predicted to be the fastest, as the single predictions say") {
  const json best = answer_of("predict" + point + "--q-len 1k --kernel auto");
  const std::string name = best["point"]["kernel"];
  CHECK(
      best["chosen"].get<std::string>().starts_with("--kernel auto: " + name + " is predicted to be the fastest of "));
  for (const std::string other : {"fused_mma", "fused_wgmma", "cudnn_forward", "fa3_forward", "pytorch_flash2"}) {
    const json named = answer_of("predict" + point + "--q-len 1k --kernel " + other);
    CHECK(best["time"]["seconds"].get<double>() <= named["time"]["seconds"].get<double>());
    if (other == name) CHECK(best["time"]["seconds"] == named["time"]["seconds"]);
  }
  const json backward = answer_of("predict" + point + "--q-len 1k --kernel auto --pass backward");
  CHECK(backward["point"]["pass"] == "backward");
  const Outcome none = run_program("predict --hardware mi300x --q-len 1k --kernel auto");
  CHECK(none.status == 1);
  CHECK(none.out.find("no kernel with a descriptor takes this point on mi300x") != std::string::npos);
}

TEST_CASE("--kernel pytorch takes the kernel that PyTorch launches, or says that it has no descriptor") {
  const auto chosen = [&](const std::string& words) { return answer_of("predict" + point + words); };
  CHECK(chosen("--kernel pytorch --q-len 1k")["point"]["kernel"] == "cudnn_forward");
  CHECK(chosen("--kernel pytorch:flash --q-len 1k")["point"]["kernel"] == "pytorch_flash2");
  CHECK(chosen("--kernel pytorch:efficient --q-len 1k")["point"]["kernel"] == "pytorch_efficient");
  const json split = chosen("--kernel pytorch:flash --q-len 1 --kv-len 8k");
  CHECK(split["point"]["kernel"] == "pytorch_flash2_split");
  CHECK(split["point"]["tile"]["splits"] == 16);
  CHECK(chosen("--kernel pytorch:flash --q-len 1k --pass backward")["point"]["kernel"] ==
        "pytorch_flash2_backward_d128");
  const Outcome decode = run_program("predict" + point + "--kernel pytorch --q-len 1 --kv-len 8k");
  CHECK(decode.status == 1);
  CHECK(decode.out.find("launches sdpa_sm80_flash_fprop_wmma (backend cudnn), which no descriptor describes") !=
        std::string::npos);
  CHECK(run_program("predict" + point + "--kernel pytorch:cuda --q-len 1k").status == 2);
  CHECK(
      answer_of(
          "predict --hardware a100_sxm_80 --heads 16 --head-dim 128 --q-len 1k --kernel pytorch")["point"]["kernel"] ==
      "pytorch_flash2");
}

TEST_CASE("a chosen kernel that is not built for the point is answered with no, whatever the command and the backend") {
  const std::string odd = " --hardware h200_sxm --heads 4 --q-len 1k --head-dim 72 --kernel ";
  for (const std::string kernel : {"pytorch", "pytorch:cudnn", "pytorch:flash", "pytorch:efficient"}) {
    CAPTURE(kernel);
    for (const std::string command : {"predict", "search", "compare", "sensitivity"}) {
      const Outcome answer = run_program(command + odd + kernel);
      CHECK(answer.status == 1);
      CHECK(answer.out.find("is not built for head_dim 72; built: 64, 128") != std::string::npos);
    }
    const Outcome swept = run_program("sweep --axis batch=1,2 --columns batch,outside" + odd + kernel);
    CHECK(swept.status == 1);
    CHECK(swept.out.find("is not built for head_dim 72; built: 64, 128") != std::string::npos);
  }
  CHECK(run_program("predict" + odd + "fused_mma").status == 2);  // this kernel was named
  const std::string elsewhere = " --heads 4 --q-len 1k --head-dim 128 --kernel pytorch --hardware ";
  const Outcome amd = run_program("predict" + elsewhere + "mi300x"),
                old = run_program("predict" + elsewhere + "v100_sxm2");
  CHECK(amd.status == 1);
  CHECK(amd.out.find("is of NVIDIA's GPUs, mi300x is of AMD") != std::string::npos);
  CHECK(old.status == 1);
  CHECK(old.out.find("needs compute capability 8.0 or later; v100_sxm2 has 7.0") != std::string::npos);
  const Outcome wide =
      run_program("predict --hardware a100_sxm_80 --heads 4 --q-len 1 --kv-len 8k --head-dim 512 --kernel pytorch");
  CHECK(wide.status == 1);
  CHECK(wide.out.find("launches fmha_cutlassF (backend efficient)") != std::string::npos);
  check_refused("predict --hardware l4 --q-len 1k --kernel pytorch:",
                "error: --kernel: 'pytorch:' names no backend; leave out the colon, or name one behind it");
}

TEST_CASE("search, compare and sweep choose kernels too, a point at a time") {
  const json search = answer_of("search" + point + "--q-len 1k --kernel auto");
  const json best = answer_of("predict" + point + "--q-len 1k --kernel auto");
  CHECK(search["kernel"] == best["point"]["kernel"]);
  const json rows = answer_of(
      "compare --hardware h200_sxm,a100_sxm_80 --heads 16 --head-dim 128 --q-len 1k --kernel "
      "'auto;pytorch'")["rows"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["kernel"] == best["point"]["kernel"]);
  CHECK(rows[2]["kernel"] == "cudnn_forward");
  CHECK(rows[3]["kernel"] == "pytorch_flash2");
  const std::string sweep =
      run_program("sweep" + point + "--kernel auto --l2 closed --axis q_len=1,1k --axis kv_len=4k --format json").out;
  const std::size_t end = sweep.find('\n');
  const json decode = json::parse(sweep.substr(0, end)), prefill = json::parse(sweep.substr(end));
  CHECK(decode["point"]["kernel"] != prefill["point"]["kernel"]);
  CHECK(prefill["feasible"] == true);
}

}  // namespace kernel_choice_test
