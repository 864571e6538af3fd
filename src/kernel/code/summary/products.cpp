#include "kernel/code/summary/products.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <set>

#include "kernel/code/sass/kinds.h"

namespace tilescope {
namespace {

constexpr int register_count = 256;
constexpr int local_memory = register_count - 1;  // RZ holds nothing: its place stands for values in local memory
using RegisterSet = std::bitset<register_count>;

// What the value of a register was made of.
struct Origin {
  RegisterSet before;            // registers, as the pass found them
  std::set<std::size_t> chains;  // results of this pass

  void add(const Origin& other) {
    before |= other.before;
    chains.insert(other.chains.begin(), other.chains.end());
  }
};

// A value that a register holds: the register, and the instruction that wrote it.
using Value = std::pair<int, std::optional<std::size_t>>;

struct Chain {
  MatrixInstruction instruction;
  bool from_zero = false, a_loaded = false, may_restart = false;
  std::int64_t length = 1;
  std::size_t first = 0;
  Origin begins_with{};                 // what it adds to
  std::optional<Value> a = {}, b = {};  // first operands, if they are in registers
};

// A register of a chain's result.
struct Part {
  std::size_t chain = 0;
  int index = 0;
};

// The place of a word in local memory: "[R1+0x40]" is 0x40 behind R1.
std::pair<std::string, std::int64_t> slot_of(const std::string& operand, int word) {
  const std::size_t plus = operand.find("+0x");
  std::int64_t offset = 4 * word;
  if (plus != std::string::npos) offset += std::stoll(operand.substr(plus + 1), nullptr, 16);
  return {operand.substr(0, plus == std::string::npos ? operand.find(']') : plus), offset};
}

// The first register of a general operand ("R24"); nothing for RZ and for other operands.
std::optional<int> general_register(const std::string& operand) {
  const std::size_t digits = operand.find_first_not_of("R");
  if (!operand.starts_with('R') || digits != 1 || operand.find_first_not_of("0123456789", 1) != std::string::npos)
    return std::nullopt;
  return std::stoi(operand.substr(1));
}

// The accumulators that an instruction adds to: its last general operand. Nothing: it adds to zero, which is written as
// RZ or, for a warpgroup, as the predicate !UPT.
std::optional<int> added_to(const Instruction& instruction) {
  if (std::count(instruction.operands.begin(), instruction.operands.end(), "!UPT") > 0) return std::nullopt;
  for (auto operand = instruction.operands.rbegin(); operand != instruction.operands.rend(); ++operand)
    if (operand->starts_with('R')) return general_register(*operand);
  return std::nullopt;
}

// HGMMA R24, gdesc[UR8], R24, UP0: the predicate says whether it adds to R24 or to zero.
bool adds_by_predicate(const Instruction& instruction) {
  return std::any_of(instruction.operands.begin(), instruction.operands.end(), [](std::string_view operand) {
    if (operand.starts_with('!')) operand.remove_prefix(1);
    return operand.starts_with("UP") && operand.size() > 2 &&
           operand.find_first_not_of("0123456789", 2) == operand.npos;
  });
}

// MOV R4, R8; IMAD.MOV.U32 R4, RZ, RZ, R8.
bool is_move(const Instruction& instruction) {
  return (instruction.opcode == "MOV" || (instruction.opcode == "IMAD" && instruction.has("MOV"))) &&
         instruction.operands.size() >= 2;
}

// CS2R R4, SRZ; MOV R4, RZ; IMAD.MOV.U32 R4, RZ, RZ, RZ; HFMA2.MMA R4, -RZ, RZ, 0, 0: all sources are zero.
bool writes_zero(const Instruction& instruction) {
  static const std::set<std::string> zeros{"RZ", "-RZ", "SRZ", "URZ", "0", "0x0"};
  using K = InstructionKind;
  const K kind = opcode_row(instruction.opcode).kind;
  const bool moves = kind == K::move || kind == K::system || kind == K::multiply_add || kind == K::fp16;
  return moves && instruction.operands.size() > 1 &&
         std::all_of(instruction.operands.begin() + 1, instruction.operands.end(),
                     [](const std::string& operand) { return zeros.contains(operand); });
}

class Chains {
 public:
  Chains() { origins_[local_memory].before.set(local_memory); }

  void step(std::size_t position, const Instruction& instruction) {
    const auto matrix = matrix_instruction(instruction);
    if (matrix && !instruction.writes.empty()) return product(position, instruction, *matrix);
    const std::vector<std::optional<Part>> kept = parts_kept(instruction);
    const Origin origin = origin_of(instruction);
    const std::optional<Value> moved =
        is_move(instruction) ? operand_value(instruction, instruction.operands.size() - 1) : std::nullopt;
    position_ = position;
    if (instruction.opcode == "STL") origins_[local_memory].add(origin);
    std::size_t next = 0;
    for (const RegisterSpan& written : instruction.writes) {
      if (written.file != RegisterFile::general) continue;
      for (int i = written.first; i < written.first + written.count; ++i, ++next) {
        note_write(instruction, i);
        if (moved) values_[i] = *moved;
        parts_.erase(i);
        origins_[i] = origin;
        if (next < kept.size() && kept[next]) parts_[i] = *kept[next];
      }
    }
  }

  std::vector<MatrixProduct> products() const {
    std::vector<MatrixProduct> products;
    std::map<std::size_t, std::array<std::set<Value>, 2>> tiles;  // by product: of A, of B
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      const Chain& chain = chains_[i];
      const bool fresh = chain.from_zero || !adds_to_itself(i);
      const auto same = [&](const MatrixProduct& product) {
        return product.instruction == chain.instruction && product.fresh == fresh && product.length == chain.length;
      };
      auto product = std::find_if(products.begin(), products.end(), same);
      if (product == products.end())
        product = products.insert(product, {.instruction = chain.instruction, .fresh = fresh, .length = chain.length});
      auto& [a, b] = tiles[static_cast<std::size_t>(product - products.begin())];
      if (chain.a) a.insert(*chain.a);
      if (chain.b) b.insert(*chain.b);
      product->a_tiles = static_cast<std::int64_t>(a.size()), product->b_tiles = static_cast<std::int64_t>(b.size());
      if (product->chains == 0 && chain.a && loads_.contains(*chain.a)) product->a_load = chain.a->second;
      if (product->chains == 0 && chain.b && loads_.contains(*chain.b)) product->b_load = chain.b->second;
      product->may_restart = product->may_restart || chain.may_restart;
      ++product->chains;
      product->a_loaded = product->a_loaded || chain.a_loaded;
      product->first.push_back(chain.first);
    }
    return products;
  }

 private:
  void product(std::size_t position, const Instruction& instruction, const MatrixInstruction& matrix) {
    const RegisterSpan result = instruction.writes.front();
    const auto from = added_to(instruction);
    position_ = position;
    const std::optional<std::size_t> known = from ? chain_in(*from, result.count) : std::nullopt;
    std::size_t chain = chains_.size();
    if (known && chains_[*known].instruction == matrix) {
      chain = *known;
      ++chains_[chain].length;
    } else {
      const bool from_zero = !from || zeroed(*from, result.count);
      Origin start;
      for (int i = 0; !from_zero && i < result.count; ++i) start.add(origin(*from + i));
      chains_.push_back({.instruction = matrix,
                         .from_zero = from_zero,
                         .may_restart = adds_by_predicate(instruction),
                         .length = 1,
                         .first = position,
                         .begins_with = std::move(start),
                         .a = operand_value(instruction, 1),
                         .b = operand_value(instruction, 2)});
    }
    for (int i = result.first; i < result.first + result.count; ++i) note_write(instruction, i);
    chains_[chain].a_loaded = chains_[chain].a_loaded || reads_loaded(instruction, result, from);
    for (int i = 0; i < result.count; ++i) {
      parts_[result.first + i] = {chain, i};
      Origin& origin = origins_[result.first + i] = chains_[chain].begins_with;
      origin.chains.insert(chain);
    }
  }

  // Whether the chain begins with what a later register of the pass, made of its result, was in the pass before.
  bool adds_to_itself(std::size_t chain) const {
    for (int i = 0; i < register_count; ++i)
      if (chains_[chain].begins_with.before.test(static_cast<std::size_t>(i)))
        if (const auto at_end = origins_.find(i); at_end != origins_.end() && at_end->second.chains.contains(chain))
          return true;
    return false;
  }

  // The value of an operand that is in registers.
  std::optional<Value> operand_value(const Instruction& instruction, std::size_t operand) const {
    const auto reg =
        instruction.operands.size() > operand ? general_register(instruction.operands[operand]) : std::nullopt;
    if (!reg) return std::nullopt;
    const auto held = values_.find(*reg);
    return held != values_.end() ? held->second : Value{*reg, std::nullopt};
  }

  Origin origin(int reg) const {
    if (const auto found = origins_.find(reg); found != origins_.end()) return found->second;
    Origin untouched;
    if (reg >= 0 && reg < register_count) untouched.before.set(static_cast<std::size_t>(reg));
    return untouched;
  }

  // Of what an instruction without a matrix product writes. Values from memory other than a thread's own are new.
  Origin origin_of(const Instruction& instruction) const {
    Origin origin;
    if (instruction.opcode == "LDL") return this->origin(local_memory);
    if (opcode_row(instruction.opcode).kind == InstructionKind::load) return origin;
    for (const RegisterSpan& read : instruction.reads)
      for (int i = read.first; read.file == RegisterFile::general && i < read.first + read.count; ++i)
        origin.add(this->origin(i));
    return origin;
  }

  // The chain whose result these registers hold.
  std::optional<std::size_t> chain_in(int first, int count) const {
    std::optional<std::size_t> chain;
    for (int i = 0; i < count; ++i) {
      const auto part = parts_.find(first + i);
      if (part == parts_.end() || part->second.index != i || (chain && *chain != part->second.chain)) return {};
      chain = part->second.chain;
    }
    return chain;
  }

  // Parts of results that the instruction copies to the registers that it writes: moves, and spills that come back.
  std::vector<std::optional<Part>> parts_kept(const Instruction& instruction) {
    std::vector<std::optional<Part>> kept;
    const auto& operands = instruction.operands;
    const auto part_of = [&](int reg) -> std::optional<Part> {
      const auto found = parts_.find(reg);
      return found != parts_.end() ? std::optional(found->second) : std::nullopt;
    };
    const int words = instruction.has("128") ? 4 : instruction.has("64") ? 2 : 1;
    if (instruction.opcode == "STL" && operands.size() == 2) {
      const auto from = general_register(operands[1]);
      for (int i = 0; i < words; ++i) {
        const auto part = from ? part_of(*from + i) : std::nullopt;
        if (part) spilled_[slot_of(operands[0], i)] = *part;
        else spilled_.erase(slot_of(operands[0], i));
      }
    } else if (instruction.opcode == "LDL" && operands.size() == 2) {
      for (int i = 0; i < words; ++i) {
        const auto found = spilled_.find(slot_of(operands[1], i));
        kept.push_back(found != spilled_.end() ? std::optional(found->second) : std::nullopt);
      }
    } else if (is_move(instruction)) {
      if (const auto from = general_register(operands.back())) kept.push_back(part_of(*from));
    }
    return kept;
  }

  void note_write(const Instruction& instruction, int reg) {
    loaded_.erase(reg), zero_.erase(reg);
    values_[reg] = Value{reg, position_};
    if (opcode_row(instruction.opcode).kind == InstructionKind::load)
      loaded_.insert(reg), loads_.insert({reg, position_});
    if (writes_zero(instruction)) zero_.insert(reg);
  }

  bool zeroed(int first, int count) const {
    for (int i = first; i < first + count; ++i)
      if (!zero_.contains(i)) return false;
    return true;
  }

  // Whether the left operand is in registers that a load of this code has written.
  bool reads_loaded(const Instruction& instruction, const RegisterSpan& result, std::optional<int> from) const {
    const auto left = instruction.operands.size() > 1 ? general_register(instruction.operands[1]) : std::nullopt;
    return left && *left != result.first && left != from && loaded_.contains(*left);
  }

  std::vector<Chain> chains_;
  std::size_t position_ = 0;                                      // of the instruction that is under way
  std::map<int, Value> values_;                                   // by register, of those that the pass has written
  std::set<Value> loads_;                                         // values that loads have written
  std::map<int, Origin> origins_;                                 // of registers that the pass has written
  std::map<int, Part> parts_;                                     // by register
  std::map<std::pair<std::string, std::int64_t>, Part> spilled_;  // by place in local memory
  std::set<int> loaded_, zero_;                                   // registers that hold loaded values, and zeros
};

}  // namespace

std::vector<MatrixProduct> matrix_products(std::span<const Instruction* const> code) {
  Chains chains;
  for (std::size_t i = 0; i < code.size(); ++i) chains.step(i, *code[i]);
  return chains.products();
}

}  // namespace tilescope
