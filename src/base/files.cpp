#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& message) {
  throw InputError(Diagnostic{.file = path.string(), .message = message});
}

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  fail(path, fmt::format("cannot be written: {}; choose a writable place with free space; nothing was changed",
                         std::strerror(error)));
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
    if (content.size() > limit)
      fail(path, fmt::format("is larger than the {} bytes this kind of file may have", limit));
  }
  if (stream.bad()) fail(path, "could not be read to its end");
  return content;
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  struct stat info {};
  special_ = ::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special_ && S_ISDIR(info.st_mode)) fail(path_, "is a directory, expected a file name to write to");
  target_ = special_ ? path_.string() : fmt::format("{}.tmp{}", path_.string(), ::getpid());
  descriptor_ = ::open(target_.c_str(), special_ ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (descriptor_ < 0) fail_to_write(path_, errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!special_) ::unlink(target_.c_str());
}

void OutputFile::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(path_, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::commit() {
  if (!special_ && ::fsync(descriptor_) != 0) fail_to_write(path_, errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  const bool failed = closed != 0 || (!special_ && ::rename(target_.c_str(), path_.c_str()) != 0);
  const int error = errno;
  if (failed && !special_) ::unlink(target_.c_str());
  if (failed) fail_to_write(path_, error);
}

void check_writable_file(const fs::path& path) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode)) fail(path, "is a directory, expected a file name to write to");
  if (there && !S_ISREG(info.st_mode)) {  // a device or pipe is written directly
    if (::access(path.c_str(), W_OK) != 0) fail_to_write(path, errno);
    return;
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::access((folder / ".").c_str(), W_OK | X_OK) == 0) return;
  if (errno == ENOENT)
    fail(path, fmt::format("cannot be written: directory '{}' does not exist; make it or choose another path",
                           folder.string()));
  fail_to_write(path, errno);
}

void check_writable_directory(const fs::path& path) {
  fs::path nearest = path;
  std::error_code ignored;
  while (!nearest.empty() && !fs::exists(nearest, ignored)) nearest = nearest.parent_path();
  if (nearest.empty()) nearest = ".";
  if (!fs::is_directory(nearest, ignored)) fail(path, fmt::format("'{}' is not a directory", nearest.string()));
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) fail_to_write(path, errno);
}

void write_file(const fs::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace tilescope
