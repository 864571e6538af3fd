// Reading whole files and replacing them atomically.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope {

// The file's bytes. Throws InputError when it is missing, unreadable, a directory, or larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{64} << 20);

// A file that appears under its name only when `commit` succeeds; until then it is a temporary beside it, of a name
// that nobody can foresee, removed when the object goes or a signal ends the program. A file that is replaced keeps its
// mode; of a symbolic link the file that it names is replaced. A device or pipe (/dev/stdout, /dev/full) is written
// directly. All throw InputError on failure.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view content);
  void commit();
  // The name until then, for a library that opens files itself; of a device or pipe its own.
  const std::string& temporary() const { return target_; }

 private:
  void discard();

  std::filesystem::path path_, file_;  // as given; without symbolic links
  std::string target_;
  int descriptor_ = -1;
  int slot_ = -1;  // of the list that the handler of signals reads
  bool special_ = false;
};

// A new directory in the one for temporary files, for its owner alone, removed with all in it by the destructor. Throws
// InputError.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& name);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// From here on SIGINT, SIGTERM and SIGHUP remove the temporary of every open OutputFile and end the program at once, as
// they do without a handler. A signal that the caller ignores (nohup) stays ignored.
void remove_temporaries_on_signals();

// Whether a file of that name, or files in that directory (which may be missing as long as it can be made), can be
// written. Throws InputError when not; writes nothing.
void check_writable_file(const std::filesystem::path& path);
void check_writable_directory(const std::filesystem::path& path);

// Writes to a temporary name beside `path`, syncs, and renames over it, so a reader sees the old file or the new
// one. A device or pipe (/dev/stdout) is written directly. Throws InputError (full disk, read-only directory, ...).
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace tilescope
