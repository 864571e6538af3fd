// Random masks of every kind, for tests that compare counts with a walk over single pairs.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/checked.h"
#include "diagram/workload.h"

namespace tilescope {

// A coin for every block.
inline Mask random_blocks(std::mt19937& random, const Workload& workload, std::int64_t block_q, std::int64_t block_kv) {
  auto pattern = std::make_shared<Mask::Blocks>();
  pattern->block_q = block_q, pattern->block_kv = block_kv;
  pattern->live.assign(static_cast<std::size_t>(ceil_div(workload.q_len, block_q)),
                       std::vector<bool>(static_cast<std::size_t>(ceil_div(workload.kv_len, block_kv))));
  for (auto& row : pattern->live)
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = std::bernoulli_distribution(0.5)(random);
  return Mask{.kind = MaskKind::blocks, .blocks = pattern, .text = "blocks"};
}

// Of any kind of the table; counts up to `most`, blocks of up to 9.
inline Mask random_mask(std::mt19937& random, const Workload& workload, std::int64_t most = 12) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const MaskKindRow& row = EnumTable<MaskKind>::rows[static_cast<std::size_t>(
      between(0, static_cast<std::int64_t>(kind_count<MaskKind>) - 1))];
  switch (row.argument) {
    case MaskArgument::none:
      return *parse_mask(row.name);
    case MaskArgument::count:
      return *parse_mask(std::string(row.name) + ":" + std::to_string(between(1, most)));
    case MaskArgument::file:
      return random_blocks(random, workload, between(1, 9), between(1, 9));
  }
  return {};
}

}  // namespace tilescope
