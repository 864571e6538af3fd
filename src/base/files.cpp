#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/files/open_problem.h"

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

// Names of open temporaries, where a handler of signals can read them: it may call unlink, fork, exec and little else.
constexpr int most_temporaries = 16;
constexpr std::size_t longest_name = 4096;
char temporaries[most_temporaries][longest_name];
enum : int { slot_free, slot_being_filled, slot_of_file, slot_of_directory };
std::atomic<int> in_use[most_temporaries];
static_assert(std::atomic<int>::is_always_lock_free);

// -1: all slots are taken, or the name is too long; then a signal leaves the file.
int remember(const std::string& name, int kind) {
  if (name.size() >= longest_name) return -1;
  for (int slot = 0; slot < most_temporaries; ++slot) {
    int free = slot_free;
    if (!in_use[slot].compare_exchange_strong(free, slot_being_filled)) continue;
    std::memcpy(temporaries[slot], name.c_str(), name.size() + 1);
    in_use[slot] = kind;
    return slot;
  }
  return -1;
}

void forget(int& slot) {
  if (slot >= 0) in_use[slot] = slot_free;
  slot = -1;
}

void forget_directory(const std::string& name) {
  for (int slot = 0; slot < most_temporaries; ++slot)
    if (in_use[slot] == slot_of_directory && name == temporaries[slot]) return forget(slot);
}

// With all that is in it, as a handler of signals may do it: by a program.
void remove_directory(const char* name) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/rm", "rm", "-rf", "--", name, static_cast<char*>(nullptr));
    ::_exit(1);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
}

void remove_and_end(int signal) {
  for (int slot = 0; slot < most_temporaries; ++slot) {
    const int kind = in_use[slot];
    if (kind == slot_of_file) ::unlink(temporaries[slot]);
    if (kind == slot_of_directory) remove_directory(temporaries[slot]);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// The file that a chain of symbolic links ends at; it need not exist.
fs::path without_links(fs::path path) {
  constexpr int most_links = 40;  // as the kernel
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    if (links == most_links) fail(path, "is a symbolic link that leads to too many others; name the file itself");
    const fs::path next = fs::read_symlink(path, error);
    if (error) fail_to_write(path, error.value());
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

// The mode of the file that is replaced, else that of any new file.
mode_t mode_of(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0) return info.st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {
    }, before{};
    action.sa_handler = remove_and_end;
    ::sigemptyset(&action.sa_mask);
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

std::string read_file(const fs::path& path, std::size_t limit) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(path, open_problem(ENOENT));
  if (fs::is_directory(status)) fail(path, "is a directory, expected a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, open_problem(errno));
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

OutputFile::OutputFile(fs::path path) : path_(std::move(path)), file_(without_links(path_)) {
  struct stat info {};
  special_ = ::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special_ && S_ISDIR(info.st_mode)) fail(path_, "is a directory, expected a file name to write to");
  if (special_) {
    target_ = path_.string();
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_to_write(path_, errno);
    return;
  }
  const mode_t mode = mode_of(file_);
  target_ = (file_.parent_path() / fmt::format(".{}.XXXXXX", file_.filename().string().substr(0, 200))).string();
  descriptor_ = ::mkostemp(target_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail_to_write(path_, errno);
  slot_ = remember(target_, slot_of_file);
  // A file system without modes keeps its own.
  if (::fchmod(descriptor_, mode) != 0 && errno != EPERM && errno != ENOTSUP) {
    const int error = errno;
    discard();
    fail_to_write(path_, error);
  }
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  descriptor_ = -1;
  if (!special_) ::unlink(target_.c_str());
  forget(slot_);
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
  const bool failed = closed != 0 || (!special_ && ::rename(target_.c_str(), file_.c_str()) != 0);
  const int error = errno;
  if (failed && !special_) ::unlink(target_.c_str());
  forget(slot_);
  if (failed) fail_to_write(path_, error);
}

TemporaryDirectory::TemporaryDirectory(const std::string& name) {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / (name + "-XXXXXX")).string();
  if (error || ::mkdtemp(path.data()) == nullptr)
    fail(path, fmt::format("cannot be made: {}; set TMPDIR to a writable directory",
                           error ? error.message() : std::strerror(errno)));
  path_ = path;
  remember(path, slot_of_directory);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  forget_directory(path_.string());
}

void check_writable_file(const fs::path& path) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode)) fail(path, "is a directory, expected a file name to write to");
  if (there && !S_ISREG(info.st_mode)) {  // a device or pipe is written directly
    if (::access(path.c_str(), W_OK) != 0) fail_to_write(path, errno);
    return;
  }
  // Renaming would replace a file that the user has protected. Root may write it all the same, but did protect it.
  if (there && ((info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || ::access(path.c_str(), W_OK) != 0))
    fail(path, "is write-protected; choose another name or permit writing with chmod u+w");
  const fs::path file = without_links(path);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (::access((folder / ".").c_str(), F_OK) != 0 && errno == ENOENT)
    fail(path, fmt::format("cannot be written: directory '{}' does not exist; make it or choose another path",
                           folder.string()));
  const OutputFile trial(path);  // some file systems refuse files though the folder may be written
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
