#include "simulate/unpack_steps.h"

#include <zstd.h>

#include "base/error.h"

namespace tilescope {

std::string unpacked_steps(const std::string& packed, const std::filesystem::path& file) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  constexpr unsigned long long most = 1ULL << 28;
  std::string text;
  if (size <= most) text.resize(size);
  if (size > most || ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size()) != size)
    throw InputError(Diagnostic{.file = file.string(),
                                .message = "is damaged; write it again with validate/tools/step_programs.py"});
  return text;
}

}  // namespace tilescope
