#include "kernel/code/summary/products.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "kernel/code/sass/listing.h"

namespace summary_products_test {

using namespace tilescope;

namespace {

std::vector<Instruction> code_of(const std::vector<std::string>& lines) {
  std::string text = "\t.section\t.text.k,\"ax\",@progbits\n";
  int address = 0;
  for (const std::string& line : lines) {
    text += fmt::format("        /*{:04x}*/                   {} ;\n", address, line);
    address += 16;
  }
  text += fmt::format("        /*{:04x}*/                   EXIT ;\n", address);
  return read_listing(text, "test").at(0).instructions;
}

std::vector<MatrixProduct> products_of(const std::vector<std::string>& lines) {
  const std::vector<Instruction> code = code_of(lines);
  std::vector<const Instruction*> pointers;
  for (const Instruction& instruction : code) pointers.push_back(&instruction);
  return matrix_products(pointers);
}

}  // namespace

TEST_CASE("a result that moves to other registers, or to local memory and back, stays one result") {
  const auto products =
      products_of({"HMMA.16816.F32 R0, R100, R104, RZ", "STL.128 [R1+0x10], R0", "HMMA.16816.F32 R0, R100, R104, RZ",
                   "STL.128 [R1+0x20], R0", "LDL.128 R0, [R1+0x10]", "HMMA.16816.F32 R0, R100, R104, R0",
                   "LDL.64 R8, [R1+0x20]", "LDL.64 R10, [R1+0x28]", "MOV R4, R8", "IMAD.MOV.U32 R5, RZ, RZ, R9",
                   "MOV R6, R10", "MOV R7, R11", "HMMA.16816.F32 R4, R100, R104, R4"});
  REQUIRE(products.size() == 1);
  CHECK(products[0].chains == 2);
  CHECK(products[0].length == 2);
  const auto overwritten =
      products_of({"HMMA.16816.F32 R0, R100, R104, RZ", "STL.128 [R1+0x10], R0", "STL [R1+0x18], R50",
                   "LDL.128 R0, [R1+0x10]", "HMMA.16816.F32 R0, R100, R104, R0"});
  REQUIRE(overwritten.size() == 1);  // two results, which are both new in each pass
  CHECK(overwritten[0].chains == 2);
  CHECK(overwritten[0].length == 1);
}

TEST_CASE("products are found again in any order of their instructions") {
  std::mt19937 random(20261123);
  const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int round = 0; round < 300; ++round) {
    // Chains of two products: one from zero, one that adds to R0..: registers of four a chain.
    const int zero_chains = pick(1, 8), zero_length = pick(1, 6), value_chains = pick(1, 8), value_length = pick(1, 6);
    std::vector<std::pair<int, int>> chains;  // accumulator, instructions left
    for (int i = 0; i < zero_chains + value_chains; ++i)
      chains.emplace_back(4 * i, i < zero_chains ? zero_length : value_length);
    std::vector<std::string> lines;
    while (!chains.empty()) {
      const auto chain = chains.begin() + pick(0, static_cast<int>(chains.size()) - 1);
      const bool from_zero = chain->first < 4 * zero_chains;
      const bool first = chain->second == (from_zero ? zero_length : value_length);
      const std::string from = from_zero && first ? "RZ" : fmt::format("R{}", chain->first);
      lines.push_back(fmt::format("HMMA.16816.F32 R{}, R100, R104, {}", chain->first, from));
      if (pick(0, 3) == 0) lines.push_back("FADD R200, R201, R202");
      if (--chain->second == 0) chains.erase(chain);
    }
    const std::vector<MatrixProduct> products = products_of(lines);
    REQUIRE(products.size() == 2);
    for (const MatrixProduct& product : products) {
      CHECK(product.chains == (product.fresh ? zero_chains : value_chains));
      CHECK(product.length == (product.fresh ? zero_length : value_length));
      CHECK(product.first.size() == static_cast<std::size_t>(product.chains));
      CHECK(product.flop() == product.chains * product.length * 2 * 16 * 8 * 16);
    }
    CHECK(products[0].fresh != products[1].fresh);
  }
}

TEST_CASE("an instruction that writes accumulators ends their chain; zeroed registers are a start from zero") {
  const std::vector<MatrixProduct> scaled =
      products_of({"HMMA.16816.F32 R0, R100, R104, R0", "FMUL R2, R2, R50", "HMMA.16816.F32 R0, R100, R104, R0"});
  REQUIRE(scaled.size() == 1);
  CHECK(scaled[0].chains == 2);
  CHECK(scaled[0].length == 1);
  const std::vector<MatrixProduct> zeroed = products_of(
      {"CS2R R0, SRZ", "CS2R R2, SRZ", "HMMA.16816.F32 R0, R100, R104, R0", "HMMA.16816.F32 R0, R108, R112, R0"});
  REQUIRE(zeroed.size() == 1);
  CHECK(zeroed[0].fresh);
  CHECK(zeroed[0].length == 2);
  const std::vector<MatrixProduct> half = products_of({"CS2R R0, SRZ", "HMMA.16816.F32 R0, R100, R104, R0"});
  CHECK_FALSE(half.at(0).fresh);  // R2 and R3 are not zero
}

TEST_CASE(
    "a result that begins with values of this pass is new, one that its own value of the pass before reaches is not") {
  const std::string product = "HMMA.16816.F32 R0, R100, R104, R0";
  std::mt19937 random(20261125);
  const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int round = 0; round < 200; ++round) {
    // Each of R0 to R3 is made of a register that the pass loads (R20..) or found (R40..), over some steps, before the
    // product; afterwards the result may reach one of those that the pass found.
    std::vector<std::string> lines{"LDS.128 R20, [R9]"};
    const bool scaled = pick(0, 1) == 1, rescaled = pick(0, 2) == 0;
    for (int i = 0; i < 4; ++i) {
      int from = scaled ? 40 + i : 20 + i;
      for (int step = pick(0, 3); step > 0; --step, from = 60 + i)
        lines.push_back(fmt::format("FFMA R{}, R{}, R30, R31", 60 + i, from));
      lines.push_back(fmt::format("FMUL R{}, R{}, R50", i, from));
    }
    lines.push_back(product);
    if (rescaled) lines.push_back("FADD R41, R1, R51");
    const auto products = products_of(lines);
    REQUIRE(products.size() == 1);
    CHECK(products[0].fresh == !(scaled && rescaled));
    CHECK(products[0].length == 1);
  }
  const auto spilled = products_of({"LDL.128 R0, [R1+0x10]", product, "STL.128 [R1+0x10], R0"});
  REQUIRE(spilled.size() == 1);
  CHECK_FALSE(spilled[0].fresh);
}

TEST_CASE("a left operand that the code loads is told from one that stays") {
  CHECK(products_of({"LDSM.16.M88.4 R100, [R9]", "HMMA.16816.F32 R0, R100, R104, RZ"}).at(0).a_loaded);
  CHECK_FALSE(products_of({"LDSM.16.M88.4 R104, [R9]", "HMMA.16816.F32 R0, R100, R104, RZ"}).at(0).a_loaded);
}

}  // namespace summary_products_test
