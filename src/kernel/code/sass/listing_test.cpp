#include "kernel/code/sass/listing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/test_seed.h"
#include "kernel/code/sass/kinds.h"
#include "kernel/code/sass/operands.h"
#include "kernel/code/sass/registers.h"
#include "kernel/code/testdata/test_kernels.h"

namespace listing_test {

using namespace tilescope;

namespace {

Instruction parsed(const std::string& text) {
  Instruction instruction;
  std::vector<std::string> table;
  REQUIRE(parse_instruction(text, instruction, table));
  REQUIRE(add_registers(instruction));
  return instruction;
}

std::string names(const std::vector<RegisterSpan>& spans) {
  std::string text;
  for (const RegisterSpan& span : spans) text += (text.empty() ? "" : " ") + to_string(span);
  return text;
}

// "read > written"
std::string flow(const std::string& text) {
  const Instruction instruction = parsed(text);
  return names(instruction.reads) + " > " + names(instruction.writes);
}

std::string section(const std::string& body) { return "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n" + body; }

std::string message_of(const std::string& listing) {
  try {
    read_listing(listing, "listing");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("registers that instructions read and write follow from operands and modifiers") {
  CHECK(flow("IADD3 R2, P0, R4, UR23, RZ") == "R4 UR23 > R2 P0");
  CHECK(flow("@!P1 IADD3.X R3, R5.reuse, -R7, RZ, P0, !PT") == "P1 R5 R7 P0 > R3");
  CHECK(flow("ISETP.GE.AND P0, PT, R3.reuse, UR17, !P2") == "R3 UR17 P2 > P0");
  CHECK(flow("LOP3.LUT P1, R9, R2, 0x3, RZ, 0xc0, !PT") == "R2 > P1 R9");
  CHECK(flow("IMAD.WIDE.U32 R8, R3, UR12, R8") == "R3 UR12 R8..R9 > R8..R9");
  CHECK(flow("LDG.E.128.CONSTANT R4, desc[UR4][R2.64+0x10]") == "UR4..UR5 R2..R3 > R4..R7");
  CHECK(flow("STG.E.64 desc[UR38][R2.64], R10") == "UR38..UR39 R2..R3 R10..R11 > ");
  CHECK(flow("LDSM.16.M88.4 R8, [R3+UR4+0x10]") == "R3 UR4 > R8..R11");
  CHECK(flow("LDGSTS.E.BYPASS.128 [R3+0x10], desc[UR6][R8.64], P2") == "R3 UR6..UR7 R8..R9 P2 > ");
  CHECK(flow("HMMA.16816.F32 R4, R8, R12, R4") == "R8..R11 R12..R13 R4..R7 > R4..R7");
  CHECK(flow("HMMA.16816.F16 R4, R8, R12, RZ") == "R8..R11 R12..R13 > R4..R5");
  CHECK(flow("IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4") == "R8..R11 R12..R13 R4..R7 > R4..R7");
  CHECK(flow("DMMA.884 R4, R8, R10, R4") == "R8..R9 R10..R11 R4..R7 > R4..R7");
  CHECK(flow("HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0") == "UR8..UR11 R24..R87 > R24..R87");
  CHECK(flow("HGMMA.64x128x16.F32 R24, R4, gdesc[UR8].tnspB, R24") == "R4..R7 UR10..UR11 R24..R87 > R24..R87");
  CHECK(flow("QGMMA.64x64x32.F32.E4M3.E4M3 R24, R4, gdesc[UR8], RZ, !UPT") == "R4..R7 UR10..UR11 > R24..R55");
  CHECK(flow("DFMA R2, R4, R6, -R8") == "R4..R5 R6..R7 R8..R9 > R2..R3");
  CHECK(flow("F2F.F32.F64 R2, R4") == "R4..R5 > R2");
  CHECK(flow("F2F.F64.F32 R2, R4") == "R4 > R2..R3");
  CHECK(flow("I2F.U64.RP R2, UR4") == "UR4..UR5 > R2");
  CHECK(flow("F2I.U64.TRUNC R2, R4") == "R4 > R2..R3");
  CHECK(flow("SHFL.BFLY PT, R3, R8, 0x1, 0x1f") == "R8 > R3");
  CHECK(flow("VOTEU.ALL UP1, P1") == "P1 > UP1");
  CHECK(flow("CS2R R2, SRZ") == " > R2..R3");
  CHECK(flow("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3+URZ+0x8], R4") == "R3 R4 > P0");
  CHECK(flow("SYNCS.EXCH.64 URZ, [UR8+0x20], UR4") == "UR8 UR4..UR5 > ");
  CHECK(flow("UTMALDG.4D [UR8], [UR4]") == "UR8..UR13 UR4..UR5 > ");
  CHECK(flow("RED.E.ADD.F32x4 [R2.64], R4") == "R2..R3 R4..R7 > ");
  CHECK(flow("LDTM.x32 R4, tmem[UR4]") == "UR4 > R4..R35");
  CHECK(flow("BSSY B0, `(.L_x_1)") == " > B0");
  CHECK(flow("BSYNC B0") == "B0 > ");
  CHECK(flow("R2P PR, R3, 0x7f") == "R3 > P0..P6");
}

TEST_CASE("matrix instructions tell shape, formats, and where the operands come from") {
  const auto wgmma = matrix_instruction(parsed("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24"));
  REQUIRE(wgmma);
  CHECK(wgmma->flop() == 2 * 64 * 256 * 16);
  CHECK(wgmma->threads == 128);
  CHECK(wgmma->type_a == "BF16");
  CHECK(wgmma->result == "F32");
  CHECK(wgmma->shared_bytes() == 2 * (64 * 16 + 256 * 16));
  const auto eight = matrix_instruction(parsed("QGMMA.64x96x32.F32.E5M2.E4M3 R24, R4, gdesc[UR8], R24"));
  REQUIRE(eight);
  CHECK(eight->type_a == "E5M2");
  CHECK(eight->type_b == "E4M3");
  CHECK_FALSE(eight->a_from_shared);
  CHECK(eight->shared_bytes() == 96 * 32);
  const auto whole = matrix_instruction(parsed("IMMA.16832.U8.S8 R4, R8.ROW, R12.COL, R4"));
  REQUIRE(whole);
  CHECK(whole->type_a == "U8");
  CHECK(whole->type_b == "S8");
  CHECK(whole->result == "S32");
  CHECK(whole->flop() == 2 * 16 * 8 * 32);
  CHECK_FALSE(matrix_instruction(parsed("FFMA R1, R2, R3, R4")).has_value());
}

TEST_CASE("branches go to labels, tables and local functions; an opcode that nobody knows is called unknown") {
  const std::vector<CodeSection> sections =
      read_listing(section("/*0000*/ BRX R2 -0x10 (*\"BRANCH_TARGETS .L_x_1,.L_x_2\"*) ;\n"
                           ".L_x_1:\n/*0010*/ CALL.REL.NOINC `($f) ;\n"
                           ".L_x_2:\n/*0020*/ @P0 BRA `(.L_x_1) ;\n"
                           "/*0030*/ NEWOP.X R1, R2 ;\n/*0040*/ EXIT ;\n"
                           "$f:\n/*0050*/ RET.REL.NODEC R4 `(k) ;\n"),
                   "listing");
  REQUIRE(sections.size() == 1);
  const std::vector<Instruction>& code = sections[0].instructions;
  REQUIRE(code.size() == 6);
  CHECK(code[0].targets == std::vector<std::uint64_t>{0x10, 0x20});
  CHECK(code[1].targets == std::vector<std::uint64_t>{0x50});
  CHECK(code[2].targets == std::vector<std::uint64_t>{0x10});
  CHECK(opcode_row(code[3].opcode).kind == InstructionKind::unknown);
  REQUIRE(sections[0].functions.size() == 1);
  CHECK(sections[0].functions[0].second == "$f");
}

TEST_CASE("issue fields of the encoding are read: stall, scoreboards and what an instruction waits for") {
  // HFMA2 after loads, by CUDA 13 for compute capability 9.0: waits for scoreboard 0, stalls for 13 clocks.
  const IssueControl control = issue_control(0x001fda0003f05270);
  CHECK(control.stall == 13);
  CHECK(control.wait_mask == 1);
  CHECK(control.result_scoreboard == IssueControl::no_scoreboard);
  CHECK(control.operand_scoreboard == IssueControl::no_scoreboard);
  CHECK(issue_control(0x000e220000002100).result_scoreboard == 0);
}

TEST_CASE("every opcode of the committed kernels is known, and each one that loads says how many bytes") {
  for (const std::string& kernel : test_kernels) {
    const std::vector<CodeSection> sections = read_listing(unpacked_test_file(kernel + ".sass"), kernel);
    for (const Instruction& instruction : sections.at(0).instructions) {
      const OpcodeRow& row = opcode_row(instruction.opcode);
      CHECK_MESSAGE(row.kind != InstructionKind::unknown, instruction.text());
      if (row.kind == InstructionKind::load || row.kind == InstructionKind::store)
        CHECK_MESSAGE(bytes_of_thread(instruction) > 0, instruction.text());
      if (row.kind == InstructionKind::matrix)
        CHECK_MESSAGE(matrix_instruction(instruction).has_value(), instruction.text());
    }
  }
}

TEST_CASE("damaged listings are refused with the line") {
  CHECK(message_of("") == "listing: error: expected the listing of nvdisasm -c, found no section of code");
  CHECK(message_of(section("/*0000*/ EXIT")).find("listing:4: error:") == 0);
  CHECK(message_of(section("/*0010*/ EXIT ;\n")).find("expected the instruction at 0x0000, found 0x0010") !=
        std::string::npos);
  CHECK(message_of(section("/*0000*/ BRA `(.L_x_9) ;\n")).find("which is no label") != std::string::npos);
  CHECK(message_of(section("/*0000*/ MOV R300, R1 ;\n")).find("a register that no GPU has") != std::string::npos);
  CHECK(message_of(section("/*0000*/ BRA 0x40 ;\n")).find("where its section has no instruction") != std::string::npos);
}

TEST_CASE("listings with random edits give a summary or InputError, never anything else") {
  const std::string good = unpacked_test_file("split_kv.sass");
  const std::string code = test_cubin("split_kv").kernels.at(0).code;
  const std::string letters = "0123456789abcdefxLRPU@!.,;[]()`*/ \n\"-+_";
  std::mt19937 random(test_seed());
  int refused = 0, read = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t start = good.find("/*", random() % (good.size() / 2)), length = 200 + random() % 3000;
    std::string bad = round % 8 == 0 ? good : section("/*0000*/ NOP ;\n") + good.substr(start, length);
    if (round % 8 != 0)  // renumber, so that more than the first line is read
      for (std::size_t at = bad.find("/*"), number = 0; at != std::string::npos;
           at = bad.find("/*", at + 2), number += 16) {
        char text[16];
        std::snprintf(text, sizeof text, "%04zx", number);
        if (const std::size_t end = bad.find("*/", at); end != std::string::npos)
          bad.replace(at + 2, end - at - 2, text);
      }
    for (auto change = random() % 6; change > 0; --change) {
      const std::size_t at = random() % bad.size();
      if (random() % 3 == 0) bad.erase(at, random() % 20);
      else if (random() % 2 == 0) bad.insert(at, 1, letters[random() % letters.size()]);
      else bad[at] = letters[random() % letters.size()];
      if (bad.empty()) bad = " ";
    }
    try {
      for (CodeSection& part : read_listing(bad, "mutated")) {
        add_issue_control(part, code, "mutated");
        const CodeSummary summary = summarise(std::move(part), 128);
        CHECK(summary.counts.instructions <= static_cast<std::int64_t>(summary.section.instructions.size()));
        ++read;
      }
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 300);
  CHECK(read > 100);
}

}  // namespace listing_test
