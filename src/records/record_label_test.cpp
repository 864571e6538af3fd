// How reports name measured points.
#include "records/record_label.h"

#include <doctest/doctest.h>

namespace record_label_test {

using namespace tilescope;

TEST_CASE("labels say formats, tile, warps, stages, splits, sizes and mask") {
  validate::MeasurePoint point{
      .kernel = "k", .mask = "window:1024", .workload = {2, 32, 8, 16, 8192, 576, 512}, .dtype = Format::fp16};
  point.dtypes["kv"] = Dtype{Format::fp8_e4m3};
  point.tile_q = 64, point.tile_kv = 128, point.warps = 12, point.stages = 3, point.splits = 8;
  CHECK(record_label(point) == "k fp16,kv=fp8_e4m3 64x128 12w s3 splits 8 d576/512 N16x8192 B2 GQA 32/8 window:1024");
  CHECK(record_label({.kernel = "k", .workload = {1, 8, 8, 512, 512, 64, 64}}) == "k fp16 d64 N512");
}

}  // namespace record_label_test
