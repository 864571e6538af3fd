#include "predict/sm/step_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "predict/sm/program_lines.h"

namespace tilescope {
namespace {

using namespace program_lines;

VectorOps part_of(const VectorOps& ops, int i, int parts) {
  VectorOps own;
  for (int VectorOps::*each : vector_ops) own.*each = part(ops.*each, i, parts);
  return own;
}

WarpStep part_of(const WarpStep& step, int i) {
  WarpStep own = step;
  own.scores = part_of(step.scores, i, step.parts), own.outputs = part_of(step.outputs, i, step.parts);
  for (ProductStep& product : own.products)
    product.instructions = part(product.instructions, i, step.parts),
    product.loads = part(product.loads, i, step.parts), product.copies = part(product.copies, i, step.parts);
  own.shared_stores = part(step.shared_stores, i, step.parts),
  own.shared_loads = part(step.shared_loads, i, step.parts), own.shared_words = part(step.shared_words, i, step.parts);
  own.sums = i == 0 ? step.sums : 0;
  return own;
}

// How a product's instruction is named: the letter of its opcode, and the modifiers of its operands.
std::pair<char, const char*> name_of(Format format) {
  if (format == Format::fp8_e4m3) return {'Q', ".E4M3.E4M3"};
  return {'H', format == Format::bf16 ? ".BF16" : ""};
}

class Lowering {
 public:
  Lowering(const WarpStep& step, double mma_chain) : s_(step), mma_chain_(static_cast<int>(mma_chain)) {
    e4m3_ = std::any_of(s_.products.begin(), s_.products.end(),
                        [](const ProductStep& product) { return product.format == Format::fp8_e4m3; });
  }

  ProgramLines step() const;
  ProgramLines start() const;
  ProgramLines end() const;

 private:
  // What scores become, in parts of the program.
  ProgramLines maxima(const VectorOps& v) const;
  ProgramLines exponentials(const VectorOps& v) const;
  ProgramLines arithmetic(const VectorOps& v) const;

  ProgramLines loads_of(const ProductStep& p, int place) const {
    return repeated(part(p.loads, place, p.depth), {.result = load_board + place % 2, .text = text::load_matrix});
  }
  ProgramLines product(const ProductStep& p, bool loaded = false, int meetings = 0) const;
  ProgramLines asynchronous_product(const ProductStep& p) const;
  ProgramLines results(int unfinished_groups) const {
    if (s_.wgmma)
      return {{.stall = half_rate, .text = fmt::format("WARPGROUP.DEPBAR.LE gsb0, 0x{}", unfinished_groups)}};
    return repeated(2, {.stall = std::clamp(mma_chain_ / 2, 1, longest_stall), .text = text::nop});
  }
  ProgramLines barriers(int count) const { return repeated(count, {.stall = half_rate, .text = text::barrier}); }
  ProgramLines stores_to_shared(int count) const {
    return repeated(count, {.stall = half_rate, .text = text::store_shared});
  }
  ProgramLines copies(int count, int addresses) const {
    ProgramLines lines =
        merged(repeated(addresses, {.stall = half_rate, .text = text::add}), repeated(count, {.text = text::copy}));
    if (count > 0) lines.push_back({.result = copy_board, .text = text::copies_end});
    return lines;
  }
  // A part of what threads read from shared memory.
  ProgramLines loads_of_part(int i, int parts) const {
    const auto loads = [&](int count, const char* text) {
      return repeated(part(count, i, parts), {.result = load_board + 1, .text = text});
    };
    ProgramLines lines = loads(s_.shared_loads, text::load_shared);
    append(lines, loads(s_.shared_words, text::load_word));
    return lines;
  }
  // The same, which the next instruction waits for.
  ProgramLines shared_loads(int i, int parts) const {
    ProgramLines lines = loads_of_part(i, parts);
    if (!lines.empty()) lines.push_back({.wait = 1 << (load_board + 1), .text = text::nop});
    return lines;
  }

  // The same in quarters, each loaded before the work on the one before it.
  ProgramLines behind_loads(int i, int parts, ProgramLines work) const {
    constexpr int quarters = 4;
    ProgramLines loads = loads_of_part(i, parts), all;
    if (loads.empty()) return work;
    const auto quarter_of = [](ProgramLines& lines, int quarter) {
      const auto size = static_cast<int>(lines.size());
      const auto first = lines.begin() + size * quarter / quarters,
                 end = lines.begin() + size * (quarter + 1) / quarters;
      return ProgramLines(std::make_move_iterator(first), std::make_move_iterator(end));
    };
    const auto load = [&](int quarter) {
      for (ProgramLine& line : quarter_of(loads, quarter))
        line.result = load_board + quarter % 2, all.push_back(std::move(line));
    };
    load(0);
    for (int quarter = 0; quarter < quarters; ++quarter) {
      if (quarter + 1 < quarters) load(quarter + 1);
      all.push_back({.wait = 1 << (load_board + quarter % 2), .text = text::nop});
      append(all, quarter_of(work, quarter));
    }
    return all;
  }

  int score_products() const {
    return static_cast<int>(
        std::count_if(s_.products.begin(), s_.products.end(), [](const ProductStep& p) { return p.of_scores; }));
  }
  struct Scores {
    VectorOps first{}, later{}, rest{};  // of the first product of scores, of the next one, and of results
  };
  Scores scores() const;
  void add_rotated(ProgramLines& all) const;
  void add_asynchronous(ProgramLines& all) const;
  void add_products(ProgramLines& all) const;

  const WarpStep& s_;
  int mma_chain_ = 0;
  bool e4m3_ = false;
};

ProgramLines Lowering::maxima(const VectorOps& v) const {
  ProgramLines lines = repeated(v.alu, {.stall = half_rate, .text = text::max});
  if (!lines.empty() && v.shuffle > 0) lines.back().stall = dependent;
  constexpr int rows = 2;  // of a thread: their shuffles run side by side
  for (int i = 0; i < v.shuffle; i += rows) {
    const int now = std::min(rows, v.shuffle - i);
    for (int j = 0; j < now; ++j) lines.push_back({.result = j, .text = text::shuffle});
    for (int j = 0; j < now; ++j) lines.push_back({.stall = dependent, .wait = 1 << j, .text = text::max});
  }
  for (int i = 0; i < s_.shared_waits; ++i) {
    lines.push_back({.result = 0, .text = text::load_word});
    lines.push_back({.stall = dependent, .wait = 1, .text = text::nop});
  }
  return lines;
}

// Compilers fill the slots between special functions with what depends on those before, and on none.
ProgramLines Lowering::exponentials(const VectorOps& v) const {
  constexpr int ahead = 8, lag = 2;
  const int n = std::max(1, v.xu), early = std::min(ahead, v.ffma);
  ProgramLines lines = repeated(early, {.text = text::ffma});
  for (int i = 0; i < n + lag; ++i) {
    if (i < v.xu) lines.push_back({.result = i % short_boards, .text = text::exp});
    const int done = i - lag;
    bool waits = done >= 0 && done < v.xu;
    const auto behind = [&](int count, const char* instruction) {
      for (int j = done < 0 ? 0 : part(count, done, n); j > 0; --j)
        lines.push_back({.wait = std::exchange(waits, false) ? 1 << done % short_boards : 0, .text = instruction});
    };
    behind(v.fadd, text::fadd), behind(v.conversion, e4m3_ ? text::pack_e4m3 : text::pack);
    if (i >= n) continue;
    append(lines, repeated(part(v.ffma - early, i, n), {.text = text::ffma}));
    append(lines, repeated(part(v.fmul, i, n), {.text = text::fmul}));
  }
  return lines;
}

ProgramLines Lowering::arithmetic(const VectorOps& v) const {
  ProgramLines lines =
      merged(repeated(v.fmul, {.text = text::fmul}), repeated(v.ffma, {.text = text::ffma_of_results}));
  lines = merged(std::move(lines), repeated(v.fadd, {.text = text::fadd}));
  lines = merged(std::move(lines), repeated(v.conversion, {.text = text::pack}));
  return merged(std::move(lines), repeated(v.alu, {.stall = half_rate, .text = text::max}));
}

ProgramLines Lowering::asynchronous_product(const ProductStep& p) const {
  const auto [letter, formats] = name_of(p.format);
  ProgramLines lines{{.text = text::products_begin}};
  for (int i = 0; i < p.instructions; ++i) {
    lines.push_back({.text = text::other});
    lines.push_back({.stall = half_rate, .text = text::other});
    const bool ends = s_.waits_each || i + 1 == p.instructions;
    lines.push_back({.text = fmt::format("{}GMMA.{}x{}x{}.F32{} R56, {}gdesc[UR16], R56{}", letter, p.mma.m, p.mma.n,
                                         p.mma.k, formats, p.a_in_shared ? "" : "R24, ", ends ? ", gsb0" : "")});
    if (s_.waits_each) append(lines, results(0));
  }
  return lines;
}

// Operands of the next place along the summed axis are loaded before the products of one. `meetings`: barriers of warps
// that copy the operands place by place.
ProgramLines Lowering::product(const ProductStep& p, bool loaded, int meetings) const {
  if (s_.wgmma) return asynchronous_product(p);
  const auto [letter, formats] = name_of(p.format);
  ProgramLines lines = loaded ? ProgramLines{} : loads_of(p, 0);
  for (int place = 0; place < p.depth; ++place) {
    const bool last = place + 1 == p.depth;
    append(lines, barriers(part(meetings, place, p.depth)));
    if (!last) append(lines, loads_of(p, place + 1));
    const int now = part(p.instructions, place, p.depth);
    for (int i = 0; i < now; ++i) {
      ProgramLine line{
          .wait = i == 0 ? 1 << (load_board + place % 2) : 0,
          .text = fmt::format("{}MMA.{}{}{}.F32{} R44, R16, R48, R44", letter, p.mma.m, p.mma.n, p.mma.k, formats)};
      if (i + 1 == now && !last) line.stall = std::clamp(mma_chain_ - between_products * (now - 1), 1, longest_stall);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Lowering::Scores Lowering::scores() const {
  Scores all{.first = s_.scores, .later = {}, .rest = s_.outputs};
  if (score_products() <= 1) return all;
  VectorOps &first = all.first, &later = all.later;
  later.fadd = std::exchange(first.fadd, 0), later.fmul = std::exchange(first.fmul, 0);
  later.conversion = first.conversion / 2, first.conversion -= later.conversion;
  return all;
}

// The last product belongs to the previous step. Warpgroups that take turns issue all products together.
void Lowering::add_rotated(ProgramLines& all) const {
  append(all, product(s_.products.front())), append(all, product(s_.products.back()));
  if (s_.products_in_turn) all.push_back({.text = text::give_turn});
  append(all, results(s_.pipelined ? 1 : 0));
  if (s_.scores_in_turn) all.push_back({.text = text::take_turn});
  VectorOps own = s_.scores, rest = s_.outputs;
  if (!s_.pipelined) own.fmul += std::exchange(rest.fmul, 0);
  append(all, maxima(own)), append(all, exponentials(own));
  if (s_.scores_in_turn) all.push_back({.text = text::give_turn});
  if (s_.pipelined) append(all, results(0));
  append(all, arithmetic(rest));
}

// Asynchronous products begin as soon as what they take is there.
void Lowering::add_asynchronous(ProgramLines& all) const {
  const int count = score_products(), every = static_cast<int>(s_.products.size());
  Scores own = scores();
  int issued = 0, waited = 0;
  const auto issue = [&](int until) {
    for (; issued < until; ++issued) append(all, product(s_.products[static_cast<std::size_t>(issued)]));
  };
  const auto wait_for = [&](int number) {
    if (number > waited) append(all, results(issued - number)), waited = number;
  };
  issue(1);
  append(all, repeated(s_.sums, {.text = text::sums}));  // of the step before
  issue(count);
  for (int i = 0; i < count; ++i) {
    wait_for(i + 1);
    if (i == 0) append(all, maxima(own.first));
    if (s_.scores_in_turn) all.push_back({.text = text::take_turn});
    if (i == 0) {
      if (count == 1) own.first.fmul += std::exchange(own.rest.fmul, 0);
      append(all, behind_loads(i, count, exponentials(own.first)));
    } else {
      append(all, behind_loads(i, count, arithmetic(part_of(own.later, i - 1, count - 1))));
    }
    if (s_.scores_in_turn) all.push_back({.text = text::give_turn});
    if (i == 0 && count > 1) issue(std::min(every, count + 1));
  }
  append(all, stores_to_shared(s_.shared_stores));
  if (s_.shared_stores > 0) {
    all.push_back({.result = 2, .text = text::stored});
    all.push_back({.wait = 1 << 2, .text = text::seen_by_products});
  }
  append(all, barriers(s_.barriers)), append(all, arithmetic(own.rest));
  issue(every), wait_for(issued);
}

// A warp multiplies, then goes on with the results.
void Lowering::add_products(ProgramLines& all) const {
  const int products = static_cast<int>(s_.products.size());
  const bool one = score_products() == 1;
  Scores own = scores();
  int seen = 0;
  for (int i = 0; i < products; ++i) {
    const ProductStep& p = s_.products[static_cast<std::size_t>(i)];
    const bool last = i + 1 == products, after_scores = i > 0 && s_.products[static_cast<std::size_t>(i) - 1].of_scores;
    const int meetings = part(s_.barriers, i, products);
    if (s_.loads_in_product) {
      if (!(p.early && after_scores)) append(all, copies(p.copies, 0));
      all.push_back({.stall = dependent, .text = text::copies_arrived});
    } else {
      append(all, barriers(meetings));
    }
    if (!p.of_scores && after_scores) append(all, stores_to_shared(s_.shared_stores));
    append(all, product(p, one && after_scores, s_.loads_in_product ? meetings : 0));
    if (!p.of_scores) {
      if (last) append(all, results(0));
      continue;
    }
    append(all, results(0));
    if (const auto* next = last ? nullptr : &p + 1; next && next->early) append(all, copies(next->copies, 0));
    append(all, shared_loads(seen, score_products()));
    if (seen++ > 0) {
      append(all, arithmetic(own.later)), append(all, arithmetic(own.rest));
      own.later = own.rest = {};
      continue;
    }
    append(all, maxima(own.first));
    if (one) own.first.fmul += std::exchange(own.rest.fmul, 0);
    if (one && !last) append(all, loads_of(s_.products[static_cast<std::size_t>(i) + 1], 0));
    append(all, exponentials(own.first));
    if (one) append(all, arithmetic(std::exchange(own.rest, {})));
  }
  append(all, arithmetic(own.later)), append(all, arithmetic(own.rest));
}

ProgramLines Lowering::step() const {
  ProgramLines all;
  if (s_.bulk) {
    all.push_back({.stall = dependent, .result = 0, .text = text::test_phase});
    all.push_back({.stall = dependent, .wait = 1, .text = text::retry});
  } else if (!s_.loads_in_product) {
    all.push_back({.stall = dependent, .text = text::copies_arrived});
  }
  append(all, barriers(s_.lockstep));
  append(all, copies(s_.bulk || s_.loads_in_product ? 0 : s_.copies, s_.threads.alu));
  if (s_.row_copy) append(all, copies(1, 0));
  for (int i = 0; i < s_.spill_waits; ++i) {
    append(all, repeated(part(s_.spills_loaded, i, s_.spill_waits), {.result = 2, .text = text::fetch}));
    all.push_back({.wait = 1 << 2, .text = text::nop});
  }
  if (s_.products_in_turn) all.push_back({.text = text::take_turn});
  const bool rotated = s_.wgmma && s_.products.size() > 1 && (s_.pipelined || s_.products_in_turn);
  if (rotated) {
    add_rotated(all);
  } else {
    for (int i = 0; i < s_.parts; ++i) {
      const WarpStep own = part_of(s_, i);
      const Lowering lowering(own, mma_chain_);
      s_.wgmma ? lowering.add_asynchronous(all) : lowering.add_products(all);
    }
    if (s_.products_in_turn) all.push_back({.text = text::give_turn});
  }
  append(all, repeated(s_.spills_stored, {.text = text::spill}));
  if (!s_.wgmma || rotated) append(all, repeated(s_.sums, {.text = s_.wgmma ? text::sums : text::sum}));
  append(all, repeated(s_.global_stores, {.text = text::store}));
  if (s_.bulk) all.push_back({.stall = half_rate, .text = text::release});
  const int others = s_.instructions - static_cast<int>(all.size()) - 1;
  all = merged(std::move(all), repeated(others, {.text = text::other}));
  space_products(all);
  all.push_back({.stall = dependent, .text = text::again});
  return all;
}

ProgramLines Lowering::start() const {
  ProgramLines lines = copies(s_.bulk ? 0 : s_.first_copies, 0);
  if (lines.empty()) lines.push_back({.text = text::nop});
  return lines;
}

ProgramLines Lowering::end() const {
  VectorOps v = s_.once, rows;
  rows.shuffle = std::exchange(v.shuffle, 0);
  ProgramLines lines = maxima(rows);
  append(lines, repeated(v.xu, {.stall = half_rate, .text = text::reciprocal}));
  append(lines, arithmetic(v));
  append(lines, stores_to_shared(s_.outputs_staged)), append(lines, barriers(s_.outputs_staged > 0));
  append(lines, repeated(s_.outputs_fetched, {.result = load_board, .text = text::load_wide}));
  lines.push_back({.wait = s_.outputs_fetched > 0 ? 1 << load_board : 0, .text = text::nop});
  return lines;
}

}  // namespace

std::string lowered_step(const WarpStep& step, double mma_chain) {
  const Lowering lowering(step, mma_chain);
  std::string all;
  const auto add = [&](const char* section, const ProgramLines& lines) {
    all += fmt::format("{}\n", section);
    for (std::size_t i = 0; const ProgramLine& line : lines)
      fmt::format_to(std::back_inserter(all), "{} {} 7 {} {:d} {}\n", line.stall, line.result, line.wait, yields(line),
                     i++ % 2 == 1 ? with_other_registers(line.text) : line.text);
  };
  add("step", lowering.step()), add("start", lowering.start()), add("end", lowering.end());
  return all;
}

}  // namespace tilescope
