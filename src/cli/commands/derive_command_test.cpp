// `derive` and `explain --why-not` as a user runs them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"

namespace tilescope::cli::derive_command_test {

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
  check_refused("derive matmul --size a",
                "error: --size: expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in a=1024,b=2k, found 'a'");
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

TEST_CASE("one's own operator goes from its diagram to every command that takes a schedule") {
  const TemporaryDirectory directory("own");
  const std::string at = directory.path().string(), schedule = at + "/gated_norm.yaml";
  write_file(at + "/gated.yaml", R"(schema: tilescope/diagram/1
diagram: gated
summary: Y = rms(X) W * sigmoid(G)
sizes: {rows: 2048, width: 1024, columns: 512}
axes: {a: {size: rows}, b: {size: width}, c: {size: columns}}
arrays:
  X: {axes: [a, b], role: input, dtype: x}
  W: {axes: [b, c], role: input, dtype: w}
  G: {axes: [a, c], role: input, dtype: x}
  N: {axes: [a], role: interior, dtype: l}
  Z: {axes: [a, b], role: interior, dtype: x}
  T: {axes: [a, c], role: interior, dtype: x}
  Y: {axes: [a, c], role: output, dtype: y}
operators:
  - {name: squares, kind: reduction, fold: sum, over: [b], expression: X * X, outputs: [N]}
  - {name: normalise, kind: pointwise, expression: X * rsqrt(N / size(b) + 0.000001), outputs: [Z]}
  - {name: multiply, kind: contraction, inputs: [Z, W], outputs: [T]}
  - {name: gate, kind: pointwise, expression: T * sigmoid(G), outputs: [Y]}
)");
  const Outcome derived = run_program("derive " + at + "/gated.yaml --save " + schedule);
  CHECK(derived.status == 0);
  CHECK(derived.err.find("place 1 of the ranking, T [a:G][c:G][b:S] in ") != std::string::npos);
  const std::string own = " --hardware h200_sxm --schedule " + schedule;
  const auto predicted = nlohmann::json::parse(run_program("predict --format json" + own).out);
  CHECK(predicted["feasible"] == true);
  CHECK(predicted["compulsory_bytes"] == 2 * (2048 * 1024 + 1024 * 512 + 2 * 2048 * 512));
  const auto found = nlohmann::json::parse(run_program("search --format json" + own).out);
  CHECK(found["feasible"][0]["tile_a"] == predicted["point"]["tile"]["a"]);
  const auto compared = nlohmann::json::parse(
      run_program("compare --format json --hardware h200_sxm,mi300x,l4 --schedule " + schedule).out);
  CHECK(compared["rows"].size() == 3);
  CHECK(run_program("explain" + own).out.find("load G") != std::string::npos);
  CHECK(run_program("sweep --axis width=256,1k --format csv" + own).status == 2);  // own sizes are set with --size
  CHECK(run_program("predict --size rows=4k" + own).status == 0);
  CHECK(run_program("search --emit json --axis q_len=64" + own).status == 2);
  CHECK(run_program("search --emit header --hardware h100_sxm --q-len 4k").err.find("give --axis") !=
        std::string::npos);
  write_file(at + "/beside.yaml",
             "schema: tilescope/schedule/1\nschedule: mine\ndiagram: gated.yaml\nsummary: t\n"
             "parameters: {a: 64, c: 64, b: 64}\nislands:\n  - name: all\n    operators: [all]\n"
             "    skips_masked_tiles: false\n    loops: [{axis: a, partition: group, tile: a}, "
             "{axis: c, partition: group, tile: c}, {axis: b, partition: stream, tile: b}]\n");
  CHECK(run_program("predict --hardware h200_sxm --schedule " + at + "/beside.yaml").status == 0);
}

TEST_CASE("what derive cannot save is refused") {
  check_refused("derive matmul --pick 2", "error: --pick: chooses what --save writes: give --save FILE, too");
  check_refused("derive matmul --save matmul.yaml",
                "error: --save: 'matmul' is the name of a shipped schedule: choose another file name");
  check_refused("derive matmul --save mine.yaml --pick 9 --top 2",
                "error: --pick: 1 schedules are ranked, found 9; --top ranks more");
}

}  // namespace tilescope::cli::derive_command_test
