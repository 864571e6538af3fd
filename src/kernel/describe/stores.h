// What a kernel's code writes to memory outside the loop over keys.
#pragma once

#include <cstdint>

#include "kernel/code/summary/code_summary.h"

namespace tilescope {

// Whether an instruction stores four bytes of a thread to memory: a number of a row, such as its log-sum-exp.
bool is_row_store(const Instruction& instruction);

// Rows of which a warp stores one number each (a log-sum-exp), by one instruction or by several of one piece of code:
// threads that reach four-byte stores, whatever the sizes of the launch are. `warp`: one that runs the loop. 0: none is
// found.
std::int64_t rows_stored_at_once(const CodeSummary& code, std::int64_t warp, std::int64_t threads);

// Whether a thread can store results without a matrix product: of rows that see no key.
bool stores_without_product(const CodeSummary& code);

// Whether warps read tiles of shared memory as matrices and write them back as matrices, where no product is.
bool rewrites_tiles(const CodeSummary& code);

// "BF16" or "F16": what conversions of two values outside of the loops of products make; empty: neither, or both.
std::string format_of_results(const CodeSummary& code);

}  // namespace tilescope
