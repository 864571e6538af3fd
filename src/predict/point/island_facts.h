// What an island bound to a point is asked again and again: worked out once, by bind_island.
#pragma once

#include <array>
#include <cstdint>

#include "kernel/descriptor/descriptor.h"

namespace tilescope {

// One operand of a product as it is fetched.
struct Operand {
  ArrayId id{};
  bool in_smem = false;     // fetched from shared memory
  bool in_tmem = false;     // operand A that threads have put into tensor memory
  bool kept = false;        // into registers, when its tile changes; else in every step
  std::int64_t copies = 1;  // fetches of the whole tile each time
  bool converted = false;   // threads convert it before the product takes it
  bool rewritten = false;   // of these, to shared memory, once a tile: more than one fetch needs it
};

struct Product {
  int op = -1;                        // position in Diagram::operators
  std::array<Operand, 2> operands{};  // A, which has the rows of the result, and B
  MmaShape mma;                       // k of the format it computes in
  Format computes_in = Format::fp16;
  bool wide = false;         // a warpgroup's instruction, which reads shared memory itself
  double multiply_adds = 0;  // of a step
};

struct IslandFacts {
  static constexpr std::size_t most_products = 6;  // more are worked out whenever they are asked for
  bool known = false;
  // A bit an ArrayId.
  std::uint64_t loads = 0, stores = 0, through_smem = 0, in_smem = 0, streams = 0, every_step = 0, in_bulk = 0;
  int scores = -1, output = -1;                    // score_array, output_array
  std::array<std::uint32_t, max_arrays> awaits{};  // by ArrayId, a bit a loop: those that it awaits if they are streams
                                                   // of several steps
  std::array<Product, most_products> products{};
  std::size_t product_count = 0;
  bool any_rewritten = false;  // an operand of a product is

  static bool has(std::uint64_t arrays, ArrayId id) { return arrays >> static_cast<unsigned>(id) & 1U; }
};

}  // namespace tilescope
