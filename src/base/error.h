// The ways a command can fail, each with its exit status.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tilescope {

enum class ExitStatus : int {
  done = 0,       // the command did what was asked
  answer_no = 1,  // infeasible, outside tolerance, check failed
  bad_input = 2,  // usage or input is wrong
  no_device = 3,  // no device, no permission, device fault
};

// One finding about an input. line and column count from 1; 0 means unknown and is not printed.
struct Diagnostic {
  std::string file{};
  int line = 0;
  int column = 0;
  std::string path{};     // where in the document or which option: "levels.hbm.bandwidth", "--q-len"
  std::string message{};  // expectation, finding and remedy in one line
};

// "file:line:col: error: path: message" with unknown parts left out.
std::string to_string(const Diagnostic& diagnostic);

// Bad input of any kind; carries every finding of the file, not only the first. Exit status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  explicit InputError(Diagnostic diagnostic) : InputError(std::vector{std::move(diagnostic)}) {}
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Throws an InputError of one finding; `path` names the option or the place in a file.
[[noreturn]] void refuse(const std::string& path, const std::string& message);

// No GPU, no permission for counters, or the device failed. Exit status 3.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device has less memory free than this work needs; other work may fit.
class DeviceMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace tilescope
