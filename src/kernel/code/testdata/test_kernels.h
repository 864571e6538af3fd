// Tests only: kernels of this folder, each a cubin and its listing by nvdisasm, compressed.
#pragma once

#include <zstd.h>

#include <stdexcept>
#include <string>

#include "base/files.h"
#include "kernel/code/code_file.h"
#include "kernel/code/sass/encoding.h"
#include "kernel/code/sass/listing.h"
#include "kernel/code/summary/code_summary.h"

namespace tilescope {

// One kernel each: fused_wgmma::forward<half, head_dim 128, 2 warpgroups of 64 queries, 128 keys, 2 stages, masked>,
// split_kv::partial<fp16, head_dim 64, 16 rows, 64 keys, 4 warps, 4 stages>, and a Triton forward kernel with 64
// queries, 32 keys, head_dim 64, 4 warps, BF16, without a mask.
inline const std::string test_kernels[] = {"fused_wgmma", "split_kv", "triton_forward"};

inline std::string unpacked(const std::string& file) {
  const std::string packed = read_file(file);
  std::string content(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
  const std::size_t size = ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (size != content.size()) throw std::runtime_error(file + " is damaged");
  return content;
}

inline std::string unpacked_test_file(const std::string& name) {
  return unpacked(std::string(TILESCOPE_SOURCE_DIR) + "/src/kernel/code/testdata/" + name + ".zst");
}

inline Cubin test_cubin(const std::string& kernel) {
  return read_cubin({unpacked_test_file(kernel + ".cubin"), kernel});
}

inline CodeSummary test_summary(const std::string& kernel) {
  const Cubin cubin = test_cubin(kernel);
  std::vector<CodeSection> sections = read_listing(unpacked_test_file(kernel + ".sass"), kernel);
  add_issue_control(sections.at(0), cubin.kernels.at(0).code, kernel);
  return summarise(std::move(sections[0]), cubin.kernels[0].most_threads);
}

}  // namespace tilescope
