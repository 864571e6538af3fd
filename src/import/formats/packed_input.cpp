#include "import/formats/packed_input.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>

#include "base/error.h"
#include "base/files/open_problem.h"

namespace tilescope::imported {
namespace {

constexpr std::uint64_t most_unpacked = std::uint64_t{8} << 30;
// JSON of events shrinks 10 to 40 times. Past the first 64 MiB a larger ratio is a bomb.
constexpr std::uint64_t free_bytes = std::uint64_t{64} << 20, most_ratio = 250;

}  // namespace

PackedInput::PackedInput(const std::filesystem::path& file) : file_(file.string()), stream_(nullptr) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) fail("is a directory; name a file");
  packed_bytes_ = std::filesystem::file_size(file, error);
  if (error) fail(open_problem(error.value()));
  stream_ = gzopen(file_.c_str(), "rb");
  if (!stream_) fail(open_problem(errno));
}

PackedInput::~PackedInput() {
  if (stream_) gzclose_r(stream_);
}

void PackedInput::fail(const std::string& message) const {
  throw InputError(Diagnostic{.file = file_, .message = message});
}

PackedInput::int_type PackedInput::underflow() {
  const int bytes = gzread(stream_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int state = Z_OK;
  const char* problem = gzerror(stream_, &state);
  if (bytes <= 0 && state == Z_BUF_ERROR) fail("ends in the middle of its gzip data; copy the file again");
  if (bytes < 0 || (bytes == 0 && state != Z_OK && state != Z_STREAM_END))
    fail(fmt::format("cannot be unpacked: {}; copy the file again",
                     problem && *problem ? problem : "damaged gzip data"));
  if (bytes == 0) return traits_type::eof();
  unpacked_bytes_ += static_cast<std::uint64_t>(bytes);
  if (unpacked_bytes_ > most_unpacked) fail("unpacks to more than 8 GiB; trace fewer steps");
  if (unpacked_bytes_ > free_bytes && unpacked_bytes_ / most_ratio > packed_bytes_)
    fail("unpacks to more than 250 times its size, as no trace does");
  setg(buffer_.data(), buffer_.data(), buffer_.data() + bytes);
  return traits_type::to_int_type(buffer_.front());
}

}  // namespace tilescope::imported
