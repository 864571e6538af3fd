#include "cli/output/launches/capture_columns.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tilescope::cli {
namespace {

std::string by(const std::array<std::int64_t, 3>& sizes) { return fmt::format("{}", fmt::join(sizes, " x ")); }

}  // namespace

const Columns<ListedKernel>& capture_columns() {
  using R = ListedKernel;
  const auto column = [](const char* key, const char* title, const char* unit, const char* meaning, auto value) {
    return Column<R>{{key, title, unit, meaning, Origin::measured}, value};
  };
  static const Columns<R> columns{
      column("kernel", "kernel", "", "Name of the kernel, without namespaces and template arguments.",
             [](const R& r) { return r.share.name; }),
      column("share_percent", "share", "%", "Part of the time of all kernels.",
             [](const R& r) { return 100 * r.share.share; }),
      column("launches", "launches", "", "Launches of the kernel in this geometry.",
             [](const R& r) { return r.share.launches; }),
      column("median_us", "median", "us", "Median time of a launch; none: no launch has a time.",
             [](const R& r) { return r.share.timed > 0 ? Json(1e6 * r.share.median_seconds) : Json(); }),
      column("grid", "grid", "", "Blocks along x, y and z.", [](const R& r) { return by(r.share.grid); }),
      column("block", "block", "", "Threads of a block along x, y and z.",
             [](const R& r) { return by(r.share.block); }),
      json_only<R>({"cluster", "cluster", "", "Blocks of a cluster along x, y and z.", Origin::measured},
                   [](const R& r) { return by(r.share.cluster); }),
      column("registers", "registers", "", "Registers of a thread.", [](const R& r) { return r.share.registers; }),
      column("shared_bytes", "shared", "B", "Shared memory of a block, static and dynamic.",
             [](const R& r) { return r.share.shared_bytes; }),
      column("local_bytes", "local", "B", "Local memory of a thread: indexed arrays and spilled registers.",
             [](const R& r) { return r.share.local_bytes; }),
      column(
          "attention", "attention", "",
          "Sign that the kernel computes attention: `loop` (`describe` found a loop over keys with the scores, their "
          "exponentials and the values), or "
          "`name` (its name resembles one: a hint alone); empty: none.",
          [](const R& r) { return r.attention; }),
      json_only<R>({"symbol", "symbol", "", "Name of the kernel, as the linker sees it.", Origin::measured},
                   [](const R& r) { return r.share.symbol; }),
      json_only<R>(
          {"module", "module", "", "Hash of the cubin (cubins/HASH.cubin); absent: not known.", Origin::measured},
          [](const R& r) { return r.share.module.empty() ? Json(Json::value_t::discarded) : Json(r.share.module); }),
      json_only<R>({"tensor_maps", "tensor maps", "", "Tensor maps among the parameters.", Origin::measured},
                   [](const R& r) { return r.share.tensor_maps; }),
      json_only<R>({"counted", "counted", "", "Launches that were counted.", Origin::measured},
                   [](const R& r) { return r.share.counted; }),
      json_only<R>({"in_graph", "in graph", "", "Whether a launch was a node of a CUDA graph.", Origin::measured},
                   [](const R& r) { return r.share.in_graph; }),
      json_only<R>({"ranges", "ranges", "", "NVTX ranges of the first launch, outermost first.", Origin::measured},
                   [](const R& r) { return r.share.ranges; }),
  };
  return columns;
}

ColumnList capture_column_list() { return listed("capture", "capture list", capture_columns()); }

}  // namespace tilescope::cli
