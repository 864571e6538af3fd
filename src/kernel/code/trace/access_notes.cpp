#include "kernel/code/trace/access_notes.h"

namespace tilescope {
namespace {

using Kind = DecodedOperand::Kind;

constexpr std::size_t first_coordinate = 2;  // behind the addresses in shared memory of the tile and of its barrier

}  // namespace

void AccessNotes::record(std::size_t at, bool unknown_guard) {
  const DecodedInstruction& decoded = decoded_[at];
  const bool barrier = decoded.opcode == TracedOpcode::barrier, loads = decoded.opcode == TracedOpcode::matrix_load;
  if (loads || (barrier && decoded.code.has(Modifier::arrives))) note_first(at);
  if (barrier && decoded.code.has(Modifier::waits)) note_wait(at);
  if (loads || barrier) return;
  TracedAccess access{.instruction = at};
  const auto& operands = decoded.operands;
  const bool copies = decoded.opcode == TracedOpcode::copy;
  if (decoded.opcode == TracedOpcode::copy_by_map || decoded.opcode == TracedOpcode::store_by_map) {
    add_copy(operands, access);
  } else {
    // LDGSTS names the shared address first.
    for (const DecodedOperand& operand : operands)
      if (operand.kind == Kind::memory && (operand.wide_base || operand.wide_ubase)) far_address(operand, access);
      else if (operand.kind == Kind::memory && copies) note_target(operand, access);
  }
  if (unknown_guard) access.known = false;
  // A copy with a false predicate behind its addresses writes zeros and reads nothing.
  if (copies && !operands.empty())
    if (const IntegerSource last = state_.source(operands.back());
        last.predicate && last.low.known && last.low.value == 0) {
      run_.varies |= last.low.varies;
      return;
    }
  run_.accesses.push_back(std::move(access));
}

void AccessNotes::note_target(const DecodedOperand& operand, TracedAccess& access) {
  const Word address = state_.near_address(operand);
  run_.varies |= address.varies;
  if (address.known) access.shared = address.value;
}

void AccessNotes::note_wait(std::size_t at) {
  const auto& operands = decoded_[at].operands;
  if (operands.size() < 2) return;
  const Word address = state_.near_address(operands[operands.size() - 2]), phase = state_.source(operands.back()).low;
  run_.varies |= address.varies | phase.varies;
  if (address.known && phase.known) run_.waits.push_back({at, address.value, phase.value});
}

void AccessNotes::note_first(std::size_t at) {
  const auto& operands = decoded_[at].operands;
  if (decoded_[at].opcode == TracedOpcode::matrix_load) {
    for (const DecodedOperand& operand : operands)
      if (operand.kind == Kind::memory)
        if (const Word address = state_.near_address(operand); address.known) {
          run_.varies |= address.varies;
          run_.matrix_loads.try_emplace(at, address.value);
        }
  } else if (!operands.empty()) {
    const Word bytes = state_.source(operands.back()).low;
    run_.varies |= bytes.varies;
    if (operands.back().kind == Kind::general && bytes.known && bytes.value > 0)
      run_.expected_bytes.try_emplace(at, bytes.value);
  }
}

void AccessNotes::far_address(const DecodedOperand& operand, TracedAccess& access) {
  std::uint64_t sum = 0;
  bool known = true;
  VaryingWords varies = 0;
  const auto add = [&](Kind kind, std::int16_t index, bool pair) {
    if (index < 0) return;
    const Word low = state_.reg(kind, index), high = pair ? state_.reg(kind, index, 1) : Word::of(0);
    known = known && low.known && high.known, varies |= low.varies | high.varies;
    sum += std::uint64_t{high.value} << 32 | low.value;
    if (low.origin != 0) access.origin = low.origin;
  };
  add(Kind::general, operand.base, operand.wide_base), add(Kind::uniform, operand.ubase, operand.wide_ubase);
  const std::int64_t offset = static_cast<std::int32_t>(operand.number);
  access.address = sum + static_cast<std::uint64_t>(offset), access.known = known;
  if (access.origin != 0) run_.varies |= varies;
}

void AccessNotes::add_copy(const std::vector<DecodedOperand>& operands, TracedAccess& access) {
  std::vector<const DecodedOperand*> addresses;
  for (const DecodedOperand& operand : operands)
    if (operand.kind == Kind::memory) addresses.push_back(&operand);
  if (addresses.size() < 2) return;
  const bool stores = decoded_[access.instruction].opcode == TracedOpcode::store_by_map;
  const DecodedOperand &tile = *addresses[stores ? 1 : 0], &map = *addresses[stores ? 0 : 1];
  const Word low = state_.reg(Kind::uniform, map.ubase), high = state_.reg(Kind::uniform, map.ubase, 1);
  const std::uint64_t address = std::uint64_t{high.value} << 32 | low.value;
  run_.varies |= low.varies | high.varies;
  if (low.known && high.known && address >= parameter_window && address - parameter_window < (1 << 16))
    access.map_offset = static_cast<std::int64_t>(address - parameter_window);
  const std::string dimensions = section_.instructions[access.instruction].modifiers.front();
  for (int k = 0; k < dimensions[0] - '0'; ++k) {
    const Word word = state_.reg(Kind::uniform, tile.ubase, static_cast<int>(first_coordinate) + k - (stores ? 1 : 0));
    run_.varies |= word.varies;
    if (!word.known) {
      access.coordinates.clear();
      return;
    }
    access.coordinates.push_back(static_cast<std::int32_t>(word.value));
  }
  access.known = true;
}

}  // namespace tilescope
