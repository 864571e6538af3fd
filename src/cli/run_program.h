// Tests only: runs the built program as a user would and catches what it prints.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tilescope::cli {

// Options of a point that several tests use.
inline const std::string shape = " --hardware h200_sxm --heads 16 --q-len 1000 --head-dim 128 --mask causal";

// A temporary folder, removed by the destructor.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "tilescope-cli-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct Outcome {
  int status = -1;
  std::string out, err;
};

// `words` are parsed by the shell. With `redirect`, such as ">/dev/full", stdout is not caught. A program that runs for
// more than two minutes is ended and has status 124.
inline Outcome run_program(const std::string& words, const std::string& redirect = "") {
  const ScratchFolder folder;
  const std::string out = folder / "out", err = folder / "err";
  const std::string command =
      "timeout 120 '" TILESCOPE_BINARY "' " + words + (redirect.empty() ? " >" + out : redirect) + " 2>" + err;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
}

// The program refuses `words` with exactly this line on stderr and nothing on stdout.
inline void check_refused(const std::string& words, const std::string& line, int status = 2) {
  CAPTURE(words);
  const Outcome outcome = run_program(words);
  CHECK(outcome.err == line + "\n");
  CHECK(outcome.out == "");
  CHECK(outcome.status == status);
}

// The cells of a CSV line without doubled quotes.
inline std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) cells.emplace_back();
    else cells.back() += c;
  }
  return cells;
}

}  // namespace tilescope::cli
