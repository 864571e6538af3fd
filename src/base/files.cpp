#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/error.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& message) {
  throw InputError(Diagnostic{.file = path.string(), .message = message});
}

// Writes everything and reports the errno of the first failure, 0 on success.
int write_and_close(int descriptor, std::string_view content) {
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) error = errno;
    else content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (error == 0 && ::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t limit) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(path, "no such file; check the path");
  if (fs::is_directory(status)) fail(path, "is a directory, expected a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::string content;
  char block[1 << 16];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    content.append(block, static_cast<std::size_t>(stream.gcount()));
    if (content.size() > limit) fail(path, fmt::format("is larger than the {} bytes this kind of file may have", limit));
  }
  if (stream.bad()) fail(path, "could not be read to its end");
  return content;
}

void write_file(const fs::path& path, std::string_view content) {
  struct stat info {};
  const bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special && S_ISDIR(info.st_mode)) fail(path, "is a directory, expected a file name to write to");
  const std::string target = special ? path.string() : fmt::format("{}.tmp{}", path.string(), ::getpid());
  const int descriptor = ::open(target.c_str(), special ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (descriptor < 0) fail(path, fmt::format("cannot be written: {}; choose a writable place", std::strerror(errno)));
  int error = write_and_close(descriptor, content);
  if (error == 0 && !special && ::rename(target.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!special) ::unlink(target.c_str());
    fail(path, fmt::format("cannot be written: {}; nothing was changed", std::strerror(error)));
  }
}

}  // namespace tilescope
