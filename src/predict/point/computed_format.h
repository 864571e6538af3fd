// The format in which matrix instructions compute a product, and why where it is not that of its operands.
#pragma once

#include <string>

#include "predict/point/bound_island.h"

namespace tilescope {

enum class OtherFormat {
  no,        // the wider operand's own
  lacking,   // the GPU's tensor cores have no rate for it
  scales,    // scales of an operand differ along the sum, and no instruction applies them there
  not_held,  // it does not hold the values of the other operand
};

struct ComputedFormat {
  Format format = Format::fp16, wanted = Format::fp16;  // wanted: the wider operand's
  OtherFormat why = OtherFormat::no;
  ArrayId array{};  // scales: the operand
};

// Of an assumed implementation. The wider operand's format, where the GPU has it and it holds the other's values. Two
// operands in block formats with the same scales are multiplied as they are where the GPU has that and the scales run
// along the sum. Everything else is converted: to the narrowest format of the GPU that holds the values of both, at
// least 16 bits where scales differ along the sum; of equally narrow ones that which holds the scaled values, and the
// longer fraction. A profile without tensor rates: the wider operand's.
ComputedFormat computed_format(const BoundIsland& bound, const Operator& op);

// Whether threads convert an operand before the product. Floating-point formats of at most 8 bits are mixed freely
// where the tensor cores take both (kind::f8f6f4, wgmma's e4m3 and e5m2).
bool needs_conversion(const BoundIsland& bound, ArrayId operand, Format computes_in);

// A group of values inside a row has a scale of its own; those of whole rows belong to the result or to the other side.
bool scales_within_rows(const BoundIsland& bound, ArrayId id);

// Why the product is computed in another format than the wider operand's: "the tensor cores of ... have no mxfp4".
// Empty: it is not.
std::string computed_format_reason(const BoundIsland& bound, const Operator& op);

}  // namespace tilescope
