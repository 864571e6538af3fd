#include "base/error.h"

#include <doctest/doctest.h>

#include <string>

namespace error_test {

using namespace tilescope;

TEST_CASE("a diagnostic omits the fields that are unknown") {
  CHECK(to_string(Diagnostic{"f.yaml", 3, 7, "a.b", "is wrong"}) == "f.yaml:3:7: error: a.b: is wrong");
  CHECK(to_string(Diagnostic{"f.yaml", 3, 0, "", "is wrong"}) == "f.yaml:3: error: is wrong");
  CHECK(to_string(Diagnostic{"f.yaml", 0, 7, "", "is wrong"}) == "f.yaml: error: is wrong");
  CHECK(to_string(Diagnostic{"", 0, 0, "--q-len", "is wrong"}) == "error: --q-len: is wrong");
}

TEST_CASE("an input error prints every finding on its own line") {
  const InputError error({Diagnostic{"f", 1, 1, "a", "x"}, Diagnostic{"f", 2, 1, "b", "y"}});
  CHECK(std::string(error.what()) == "f:1:1: error: a: x\nf:2:1: error: b: y");
  CHECK(error.diagnostics().size() == 2);
}

TEST_CASE("a diagnostic is one short line, whatever it quotes") {
  CHECK(to_string(Diagnostic{"f\n", 1, 0, "--a\x1b[2J", "found 'x\ny'"}) ==
        "f\\n:1: error: --a\\x1b[2J: found 'x\\ny'");
  CHECK(to_string(Diagnostic{"", 0, 0, "", "found '" + std::string(100000, 'a') + "'"}).size() < 200);
}

}  // namespace error_test
