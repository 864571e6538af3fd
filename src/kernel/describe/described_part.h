// Adds values to a part of a description, in the order of the descriptor's file.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "kernel/describe/block_tile.h"
#include "kernel/describe/description.h"

namespace tilescope {

struct DescribedPart {
  std::vector<DescribedValue>& values;
  void add(const char* key, std::string value, ValueSource from, std::string reason) {
    values.push_back({key, std::move(value), from, std::move(reason)});
  }
  void add(const char* key, std::int64_t value, ValueSource from, std::string reason) {
    add(key, fmt::format("{}", value), from, std::move(reason));
  }
  void yes(const char* key, bool value, std::string reason) {
    if (value) add(key, "true", ValueSource::code, std::move(reason));
  }
  // A block's warps, what they hold in registers, and its stages, which `staged` names; `loop`: what consumers run.
  void add_warps(const DescribeInput& input, const BlockTile& tile, const char* staged, const char* loop) {
    const AttentionFacts& facts = input.facts;
    add("warps", tile.warps, input.launch.threads > 0 ? ValueSource::launch : ValueSource::elf, "threads of a block");
    if (facts.sliced)
      add("stages", tile.stages, ValueSource::code, "slices pass shared memory within the products of a step");
    else if (tile.stages > 0)
      add("stages", tile.stages, ValueSource::launch, fmt::format("{} in shared memory", staged));
    if (tile.consumer_warps != tile.warps)
      add("consumer_warps", tile.consumer_warps, ValueSource::code, fmt::format("warps that run {}", loop));
    if (facts.consumer_registers) add("consumer_registers", *facts.consumer_registers, ValueSource::code, "USETMAXREG");
    if (facts.producer_registers) add("producer_registers", *facts.producer_registers, ValueSource::code, "USETMAXREG");
  }
};

}  // namespace tilescope
