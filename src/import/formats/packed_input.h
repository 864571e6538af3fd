// Bytes of a file that may be compressed by gzip, as a stream.
#pragma once

#include <array>
#include <filesystem>
#include <streambuf>
#include <string>

struct gzFile_s;

namespace tilescope::imported {

// Unpacks piece by piece, so that memory does not grow with the file. Throws InputError when the file cannot be read,
// ends early, is damaged, or unpacks to more than a trace could hold.
class PackedInput : public std::streambuf {
 public:
  explicit PackedInput(const std::filesystem::path& file);
  ~PackedInput() override;
  PackedInput(const PackedInput&) = delete;
  PackedInput& operator=(const PackedInput&) = delete;

 protected:
  int_type underflow() override;

 private:
  [[noreturn]] void fail(const std::string& message) const;

  std::string file_;
  gzFile_s* stream_;
  std::array<char, 1 << 16> buffer_;
  std::uint64_t packed_bytes_, unpacked_bytes_ = 0;
};

}  // namespace tilescope::imported
