#include "kernel/describe/step_program.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "kernel/code/testdata/test_kernels.h"
#include "kernel/describe/description.h"

namespace step_program_test {

using namespace tilescope;

namespace {

AttentionFacts facts_of_kernel(const std::string& kernel) {
  const Cubin cubin = test_cubin(kernel);
  return *attention_facts(cubin.kernels.at(0), cubin.compute_capability, test_summary(kernel)).facts;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE(
    "a kernel whose warps are alike has step, start and end; with roles the step alone, if turns hold its units") {
  const AttentionFacts triton = facts_of_kernel("triton_forward");
  for (const char* section : {"step\n", "\nstart\n", "\nend\n"}) CHECK(times(triton.program, section) == 1);
  CHECK(times(triton.program, "HGMMA") > 0);
  CHECK(times(triton.program, "masked\n") == 0);  // no mask
  const Description description = describe_kernel({.name = "a", .facts = triton, .launch = {{16, 16, 1}, 128, 24576}});
  CHECK(times(description.yaml(), "  program: |\n    step\n    ") == 1);
  AttentionFacts damaged = triton;
  damaged.program = "step\n\t1 7 7 0 NOP\n";
  CHECK_THROWS_AS(read_facts(facts_json(damaged), "facts"), InputError);

  const CodeSummary roles = test_summary("fused_wgmma");  // copies and products by different warps
  const AttentionLoop loop = *attention_loop(roles).loop;
  for (const StepWarps& together : {StepWarps{.take_turns = true, .units = 2}, {.take_turns = false, .units = 1}}) {
    const std::string program = step_program(roles, loop, together);
    CHECK(program.starts_with("step\n"));
    CHECK(times(program, "HGMMA") > 0);
    CHECK(times(program, "\nstart\n") == 0);
  }
  CHECK(step_program(roles, loop, {.take_turns = false, .units = 2}).empty());
  AttentionLoop more = loop;  // than the way through the code multiplies
  more.values.chains *= 2;
  CHECK(step_program(roles, more, {.take_turns = true, .units = 2}).empty());
  AttentionLoop gradients = loop;
  gradients.pass = AttentionPass::backward;
  CHECK(step_program(roles, gradients, {.take_turns = true, .units = 2}).empty());
}

TEST_CASE(
    "loops inside of a step are repeated as often as the launch says; a program with an open number is left out") {
  const std::string open = "step\n1 a\nscores {\n2 b\n3 c\n}\n4 d\nvalues {\n5 e\n}\nscores {\n6 f\n}\nend\n7 g\n";
  CHECK(has_open_passes(open));
  const std::string scores = with_passes(open, InnerLoop::scores, 2);
  CHECK(scores == "step\n1 a\n2 b\n3 c\n2 b\n3 c\n4 d\nvalues {\n5 e\n}\n6 f\n6 f\nend\n7 g\n");
  CHECK(has_open_passes(scores));
  const std::string both = with_passes(scores, InnerLoop::values, 1);
  CHECK(both == "step\n1 a\n2 b\n3 c\n2 b\n3 c\n4 d\n5 e\n6 f\n6 f\nend\n7 g\n");
  CHECK(!has_open_passes(both));
  CHECK(with_passes(both, InnerLoop::values, 3) == both);
  CHECK(with_passes("step\nvalues {\n5 e\n}\n", InnerLoop::values, 0) == "step\n");

  AttentionFacts facts = facts_of_kernel("triton_forward");
  facts.program = open;
  facts.depth_of_pass = facts.value_depth = facts.head_dim = 32;
  const DescribeInput unknown{.name = "a", .facts = facts, .launch = {{16, 16, 1}, 128, 24576}};
  CHECK(describe_kernel(unknown).program.empty());
  DescribeInput known = unknown;
  known.workload = Workload{2, 8, 4, 1000, 1000, 64, 64}, known.head_dims_stated = true;
  const std::string program = describe_kernel(known).program;
  CHECK(times(program, "2 b\n3 c\n") == 2);  // 64 of 32 at a time
  CHECK(times(program, "}") == 0);
}

}  // namespace step_program_test
