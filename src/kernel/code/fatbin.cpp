#include "kernel/code/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>

namespace tilescope {
namespace {

// Layout as nvcc of CUDA 11 to 13 writes it. A container: magic number, version (16 bits), bytes of this header (16
// bits), bytes of the entries. An entry: kind (16 bits), version (16 bits), bytes of the header (32 bits), bytes of the
// contents (64 bits), bytes of them that are used (32 bits), ..., at 28 ten times the compute capability, at 40 flags
// (64 bits), at 56 the bytes that the contents decompress to (64 bits).
constexpr std::uint32_t container_magic = 0xba55ed50;
constexpr std::uint16_t kind_elf = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;  // of one cubin; what a file states may be damage

std::string decompressed(const ByteView& view, std::string_view packed, std::uint64_t flags, std::uint64_t bytes) {
  if ((flags & (flag_lz4 | flag_zstd)) == 0) return std::string(packed);
  if (bytes > most_bytes)
    view.fail(fmt::format("holds a cubin of {} bytes, at most {} are read: it is damaged", bytes, most_bytes));
  std::string whole(bytes, '\0');
  const bool zstd = (flags & flag_zstd) != 0;
  const std::uint64_t found =
      zstd ? ZSTD_decompress(whole.data(), whole.size(), packed.data(), packed.size())
           : static_cast<std::uint64_t>(
                 std::max(0, LZ4_decompress_safe(packed.data(), whole.data(), static_cast<int>(packed.size()),
                                                 static_cast<int>(whole.size()))));
  if ((zstd && ZSTD_isError(found)) || found != bytes)
    view.fail("holds a cubin that cannot be decompressed: it is damaged");
  return whole;
}

}  // namespace

void for_each_entry(const ByteView& view, const std::function<void(FatbinEntry&&)>& use) {
  for (std::uint64_t at = 0; at + 16 <= view.size();) {
    if (view.read<std::uint32_t>(at) != container_magic) {  // containers are aligned to 8 bytes
      at += 8;
      continue;
    }
    const std::uint64_t header = view.read<std::uint16_t>(at + 6), end = at + header + view.read<std::uint64_t>(at + 8);
    if (end < at + 16) view.fail("holds a container without a header: it is damaged");  // the sum may have wrapped
    view.part(at, end - at);
    for (at += header; at + 64 <= end;) {
      const std::uint64_t own = view.read<std::uint32_t>(at + 4), contents = view.read<std::uint64_t>(at + 8);
      const std::uint64_t flags = view.read<std::uint64_t>(at + 40);
      const std::uint32_t used = view.read<std::uint32_t>(at + 16), number = view.read<std::uint32_t>(at + 28);
      std::string_view packed = view.part(at + own, contents);
      if (own == 0) view.fail("has an entry without a header: it is damaged");
      if (used > 0 && used <= packed.size()) packed = packed.substr(0, used);
      if (view.read<std::uint16_t>(at) == kind_elf)
        use({fmt::format("{}.{}", number / 10, number % 10),
             decompressed(view, packed, flags, view.read<std::uint64_t>(at + 56))});
      at += own + contents;
    }
    at = std::max(at, end);
  }
}

std::vector<FatbinEntry> read_fatbin(const ByteView& view) {
  std::vector<FatbinEntry> entries;
  for_each_entry(view, [&](FatbinEntry&& entry) { entries.push_back(std::move(entry)); });
  return entries;
}

}  // namespace tilescope
