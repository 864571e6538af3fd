// `derive` and `explain --why-not` as a user runs them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace tilescope::cli {

TEST_CASE("derive finds the online softmax and FlashAttention-2 from the attention diagram") {
  const Outcome outcome = run_program("derive attention --q-len 8k --head-dim 128");
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  for (const char* line : {"body   l' = l*exp(m - m') + sum over x of exp(S - m') where S live", "final  O = O/l",
                           "final  L = m + log(l)", "H*(M) = q_len*kv_len*(d_qk + d_v)*(d_qk + d_v + 3)*M^-1",
                           "The best schedule moves 6.81 times the strongest bound."}) {
    CAPTURE(line);
    CHECK(outcome.out.find(line) != std::string::npos);
  }
}

TEST_CASE("derive as JSON ranks flash2 first where memory is large, and a pair of kernels where it is small") {
  const auto large = nlohmann::json::parse(run_program("derive attention --format json").out);
  CHECK(large["schema"] == "tilescope/derivation/1");
  CHECK(large["ranked"][0]["names"] == nlohmann::json::array({"flash2"}));
  CHECK(large["enumeration"]["complete"] == true);
  for (const auto& schedule : large["schedules"]) {
    CAPTURE(schedule["name"]);
    CHECK(schedule["found"] == true);
  }
  const auto small = nlohmann::json::parse(run_program("derive attention --memory 3000 --format json").out);
  CHECK(small["ranked"][0]["kernels"].size() == 2);
}

TEST_CASE("a diagram's own sizes are set on the command line, and its optimum printed") {
  const Outcome outcome = run_program("derive matmul --size a=8k,b=8k,c=8k --memory 16k");
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find("H*(M) = 2*a*b*c*M^(-1/2) + a*c") != std::string::npos);
}

TEST_CASE("a fold that cannot be repaired is refused with the reason, and scheduled around") {
  const Outcome outcome = run_program("derive sigmoid_of_centred_scores");
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find("x cannot be streamed: sigmoid(S - mu): sigmoid of a sum that mixes S, which varies along x, "
                         "with the fold mu") != std::string::npos);
}

TEST_CASE("a memory that not even tiles of one fit into is answered with no") {
  const Outcome outcome = run_program("derive matmul --memory 1");
  CHECK(outcome.status == 1);
  CHECK(outcome.out.find("Nothing fits into this memory") != std::string::npos);
}

TEST_CASE("a wrong argument of derive gives a one-line error") {
  CHECK(run_program("derive").status == 2);
  CHECK(run_program("derive atention").err.find("did you mean 'attention'?") != std::string::npos);
  check_refused("derive matmul --size z=3", "error: --size: diagram 'matmul' has no size 'z'; known: a, b, c");
  check_refused("derive matmul --size a", "error: --size: expected NAME=N, as in a=4k, found 'a'");
  check_refused("derive attention --format yaml",
                "error: --format: expected text, json, csv, md or html, found 'yaml'; did you mean 'html'?");
}

TEST_CASE("why-not names the rule, kernel by kernel") {
  const Outcome group = run_program("explain --schedule flash2 --why-not kv:group");
  CHECK(group.status == 1);
  CHECK(group.out.find("blocks cannot share x: the results over it are not plain sums, so they must leave partial "
                       "results to be merged (ask for x:parts)") != std::string::npos);
  const Outcome parts = run_program("explain --schedule flash2 --why-not x:parts");
  CHECK(parts.status == 0);
  CHECK(parts.out.find("every part of x leaves partial results, which a second kernel merges") != std::string::npos);
  CHECK(run_program("explain --schedule flash2-backward --why-not kv:group").status == 0);  // dQ is a plain sum
  check_refused("explain --schedule flash2 --why-not kv",
                "error: --why-not: expected AXIS:PARTITION, as in kv:group, found 'kv'");
}

TEST_CASE("options that a lowering ignores are refused") {
  const std::string lowering = "derive --lowering " TILESCOPE_SOURCE_DIR "/models/lowerings/napkin_hopper.yaml ";
  for (const char* option : {"--hardware h100_sxm", "--dtype fp16", "--memory 4k", "--q-len 8k", "--top 3"}) {
    CAPTURE(option);
    const Outcome outcome = run_program(lowering + option);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("the --lowering file states GPU, sizes and formats") != std::string::npos);
  }
}

TEST_CASE("a lowering gives the paper's numbers from its file") {
  const Outcome outcome = run_program("derive --lowering " TILESCOPE_SOURCE_DIR "/models/lowerings/napkin_hopper.yaml");
  CHECK(outcome.status == 0);
  for (const char* number : {"3.73", "3.42", "4.06"}) CHECK(outcome.out.find(number) != std::string::npos);
  const std::string command =
      "derive --lowering " TILESCOPE_SOURCE_DIR "/models/lowerings/napkin_hopper.yaml --format ";
  const auto json = nlohmann::json::parse(run_program(command + "json").out);
  const std::string csv = run_program(command + "csv").out, markdown = run_program(command + "md").out;
  CHECK(csv.starts_with("plan,sizes,fits,problems,copies,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == static_cast<std::ptrdiff_t>(1 + json["plans"].size()));
  CHECK(markdown.find("## Plan " + json["plans"][0]["name"].get<std::string>() + "\n") != std::string::npos);
  for (const char* number : {"3.73", "3.42", "4.06"}) CHECK(markdown.find(number) != std::string::npos);
  CHECK(run_program(command + "html").status == 2);
}

TEST_CASE("derive compares GPUs by H*M^beta and formats by q^(1+beta), in text and in JSON") {
  const std::string points = " --hardware a100_sxm_80,h100_sxm --dtype fp16 --dtype fp8_e4m3";
  const Outcome text = run_program("derive attention --q-len 8k --head-dim 128" + points);
  CHECK(text.status == 0);
  for (const char* part :
       {"GPUs by H*(M)", "2.80", "section 5.1", "Change of number format: q^(1+beta)", "section 5.2"})
    CHECK(text.out.find(part) != std::string::npos);
  const auto json = nlohmann::json::parse(run_program("derive matmul" + points + " --format json").out);
  CHECK(json["levels"].size() == 2);
  CHECK(json["gpus"]["rows"].size() > 4);
  std::vector<double> factors;
  for (const auto& term : json["formats"]["terms"])
    if (term["array"] == "A load") factors.push_back(term["factor"]);
  REQUIRE(factors.size() == 1);
  CHECK(factors.front() == doctest::Approx(std::pow(2, 1.5)));  // beta = 1/2
  check_refused("derive attention --hardware h100_sxm,,h200_sxm",
                "error: --hardware: holds an empty value: 'h100_sxm,,h200_sxm'");
}

}  // namespace tilescope::cli
