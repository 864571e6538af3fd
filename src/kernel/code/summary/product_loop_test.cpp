#include "kernel/code/summary/product_loop.h"

#include <doctest/doctest.h>

#include "kernel/code/testdata/test_kernels.h"

using namespace tilescope;

namespace {

// A kernel with one loop whose body is `body`, and `after` behind it.
CodeSummary looped(const std::string& body, const std::string& after) {
  CodeLoop loop;
  const auto counts = [](const std::string& code) {
    CodeCounts counted;
    if (code.find('m') != std::string::npos) counted.kinds[InstructionKind::matrix] = 2;
    if (code.find('e') != std::string::npos) counted.special["EX2"] = 3;
    return counted;
  };
  CodeSummary summary;
  loop.always = counts(body);
  loop.header = 0x40;
  summary.loops.push_back(loop);
  summary.counts = counts(body + after);
  return summary;
}

}  // namespace

TEST_CASE("attention kernels have a loop with matrix products and exponentials") {
  for (const std::string& kernel : test_kernels) {
    CAPTURE(kernel);
    const CodeSummary code = test_summary(kernel);
    const auto loop = product_loop(code);
    REQUIRE(loop.has_value());
    CHECK(loop->products > 0);
    CHECK(loop->exponentials > 0);
    CHECK(loop->products <= code.counts.of(InstructionKind::matrix));
  }
}

TEST_CASE("products in a loop and exponentials after it are not such a loop; an inner loop counts for the outer one") {
  CHECK(!product_loop(looped("m", "e")));
  CHECK(!product_loop(looped("e", "m")));
  CHECK(!product_loop(looped("", "me")));
  CHECK(!product_loop(CodeSummary{}));
  const auto found = product_loop(looped("me", ""));
  REQUIRE(found.has_value());
  CHECK(found->header == 0x40);
  CHECK(found->products == 2);
  CHECK(found->exponentials == 3);

  CodeSummary nested = looped("e", "");
  CodeLoop inner;
  inner.parent = 0;
  inner.depth = 2;
  inner.header = 0x80;
  inner.always.kinds[InstructionKind::matrix] = 5;
  nested.loops.push_back(inner);
  const auto outer = product_loop(nested);
  REQUIRE(outer.has_value());
  CHECK(outer->header == 0x40);
  CHECK(outer->products == 5);
}
