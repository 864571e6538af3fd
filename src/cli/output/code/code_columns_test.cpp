#include "cli/output/code/code_columns.h"

#include <doctest/doctest.h>

#include "cli/output/code/code_json.h"
#include "cli/output/code/code_text.h"
#include "kernel/code/sass/listing.h"

namespace code_columns_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

CodeSummary loop_with_calls() {
  std::vector<CodeSection> sections = read_listing(
      "\t.section\t.text.k,\"ax\",@progbits\n.L_1:\n/*0000*/ CALL.REL.NOINC `($f) ;\n/*0010*/ FADD R0, R0, R1 ;\n"
      "/*0020*/ @P0 BRA `(.L_1) ;\n/*0030*/ EXIT ;\n$f:\n/*0040*/ RET.REL.NODEC R2 `(k) ;\n",
      "k");
  return summarise(std::move(sections.at(0)), 32);
}

}  // namespace

TEST_CASE("calls in a loop are counted, and a note says that the called instructions are missing") {
  InspectedKernel kernel;
  kernel.code = loop_with_calls();
  REQUIRE(kernel.code->loops.size() == 1);
  CHECK(calls_in(kernel.code->loops[0]) == 1);
  CHECK(code_json(*kernel.code, false).at("loops").at(0).at("calls") == 1);
  CHECK(code_text({kernel}, {})
            .find("Calls of functions: 1 in a pass of loop 0x0000. The instructions of called "
                  "functions are missing") != std::string::npos);
}

TEST_CASE("a function of a relocatable object is marked, and its shared memory is not known") {
  InspectedKernel kernel;
  kernel.kernel.name = "callee", kernel.kernel.is_function = true, kernel.kernel.linked = false;
  const Json object = object_of(code_columns(), kernel);
  CHECK(object.at("is_function") == true);
  CHECK(object.at("shared_bytes").is_null());
  CHECK(code_text({kernel}, {}).find("callee (function)") != std::string::npos);
}

}  // namespace code_columns_test
