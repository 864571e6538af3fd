// Lines of a synthesised program, and the instructions that it has.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::program_lines {

// An instruction and its control bits. Scoreboard 7: none.
struct ProgramLine {
  int stall = 1, result = 7, wait = 0;
  std::string text{};
};
using ProgramLines = std::vector<ProgramLine>;

// Scoreboards: special functions, shuffles and other short waits; loads of shared memory; copies of tiles.
inline constexpr int short_boards = 3, load_board = 3, copy_board = 5;
// Clocks that compilers put behind an instruction whose result the next one takes, and behind one of a pipe that takes
// an instruction every other clock.
inline constexpr int dependent = 5, half_rate = 2;
inline constexpr int longest_stall = 15;
// From one product of mma.sync to the next one of the warp, at least.
inline constexpr int between_products = 6;

namespace text {
inline constexpr const char *ffma = "FFMA R8, R9, UR4, R10", *ffma_of_results = "FFMA R14, R14, R15, R16",
                            *fadd = "FADD R11, R8, R11", *fmul = "FMUL R14, R14, R15", *max = "FMNMX R5, R6, R7, !PT",
                            *add = "IADD3 R4, R5, R6, RZ", *exp = "MUFU.EX2 R8, R8", *reciprocal = "MUFU.RCP R8, R8",
                            *pack = "F2FP.F16.F32.PACK_AB R12, R8, R9",
                            *pack_e4m3 = "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R12, R8, R9, RZ",
                            *shuffle = "SHFL.BFLY PT, R6, R5, 0x1, 0x1f", *other = "UMOV UR4, UR5", *nop = "NOP",
                            *copy = "LDGSTS.E.BYPASS.128 [R45], desc[UR12][R6.64]", *copies_end = "LDGDEPBAR",
                            *copies_arrived = "DEPBAR.LE SB5, 0x0", *load_matrix = "LDSM.16.M88.4 R48, [R6]",
                            *load_shared = "LDS.64 R8, [R10]", *load_wide = "LDS.128 R8, [R10]",
                            *load_word = "LDS R8, [R10]", *store_shared = "STS.128 [R10], R12",
                            *store = "STG.E.128 desc[UR4][R2.64], R4",
                            *sums = "RED.E.ADD.F32x4.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4",
                            *sum = "RED.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4", *fetch = "LDL R8, [R1]",
                            *spill = "STL [R1], R8", *barrier = "BAR.SYNC.DEFER_BLOCKING 0x0",
                            *take_turn = "BAR.SYNC.DEFER_BLOCKING R5, 0x100", *give_turn = "BAR.ARV R6, 0x100",
                            *test_phase = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR9], R14",
                            *retry = "@!P0 BRA `(.L_x_1)", *release = "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR9], RZ",
                            *again = "@P0 BRA `(.L_x_2)", *products_begin = "WARPGROUP.ARRIVE",
                            *stored = "MEMBAR.ALL.CTA", *seen_by_products = "FENCE.VIEW.ASYNC.S";
}

inline int part(int count, int i, int n) { return count * (i + 1) / n - count * i / n; }
inline ProgramLines repeated(int count, const ProgramLine& line) {
  return ProgramLines(static_cast<std::size_t>(std::max(0, count)), line);
}
inline void append(ProgramLines& to, ProgramLines&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Both in their own order, evenly.
inline ProgramLines merged(ProgramLines a, ProgramLines b) {
  if (a.size() < b.size()) std::swap(a, b);
  ProgramLines all;
  all.reserve(a.size() + b.size());
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  std::size_t next = 0;
  for (int i = 0; i < n; ++i) {
    all.push_back(std::move(a[static_cast<std::size_t>(i)]));
    for (int j = part(m, i, n); j > 0; --j) all.push_back(std::move(b[next++]));
  }
  return all;
}

// The same instruction on neighbouring registers, which lie in the other bank: values that are worked on one behind the
// other are neighbours.
inline std::string with_other_registers(std::string text) {
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    const bool named = (text[i - 1] == ' ' || text[i - 1] == '[') && text[i] == 'R';
    std::size_t end = i + 1;
    while (named && end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end > i + 1) text[end - 1] = static_cast<char>(text[end - 1] ^ 1);
  }
  return text;
}

// Whether compilers give the line the hint that another warp should issue next: arithmetic and fences that stall long.
inline bool yields(const ProgramLine& line) {
  constexpr std::string_view hinted[] = {"FFMA", "FADD", "FMUL", "FMNMX", "F2FP", "IADD3", "UMOV", "NOP", "WARPGROUP"};
  constexpr int long_stall = 3;
  return line.stall >= long_stall &&
         std::any_of(std::begin(hinted), std::end(hinted), [&](auto name) { return line.text.starts_with(name); });
}

// Lengthens stall counts of products so that the warp's next one comes no sooner than compilers let it.
inline void space_products(ProgramLines& lines) {
  int after = between_products;  // clocks from the end of a line to the next product
  for (std::size_t i = lines.size(); i-- > 0;) {
    const bool product = lines[i].text.find("MMA.") == 1;  // HMMA, QMMA; asynchronous ones are GMMA
    if (product) lines[i].stall += std::max(0, between_products - lines[i].stall - after);
    after = product ? 0 : std::min(between_products, after + lines[i].stall);
  }
}

}  // namespace tilescope::program_lines
