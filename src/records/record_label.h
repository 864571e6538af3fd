// How the report names a measured point in few words.
#pragma once

#include <string>

#include "records/point.h"

namespace tilescope {

// Formats, tile, warps, stages and splits: "fp16,kv=int4:g32:b2 64x64 4w s3 splits 8". What a point leaves open is left
// out.
std::string implementation_label(const validate::MeasurePoint& point);

// Sizes and mask: "d128 N1x8192 B64 GQA 32/8 causal".
std::string workload_label(const validate::MeasurePoint& point);

std::string record_label(const validate::MeasurePoint& point);  // kernel, implementation, workload

}  // namespace tilescope
