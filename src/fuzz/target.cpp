#include "fuzz/target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/checked.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/cli.h"

namespace tilescope::fuzz {
namespace {

// What `run` returns; false where it ends with an error that users see as a message.
template <class Run>
bool answered(Run run) {
  try {
    return run();
  } catch (const InputError&) {
  } catch (const CountOverflow&) {
  } catch (const DeviceError&) {
  }
  return false;
}

}  // namespace

const std::vector<const Target*>& targets() {
  static const std::vector<const Target*> all{
      &baseline, &block_mask, &calls,    &capture,  &capture_facts, &capture_trace, &command_line, &diagram,  &elf,
      &errors,   &experiment, &facts,    &hardware, &kernel,        &listing,       &lowering,     &measured, &ncu_csv,
      &network,  &record,     &schedule, &shard,    &sqlite,        &steps,         &trace_json,   &workload};
  return all;
}

const Target* find_target(std::string_view name) {
  const auto found = std::find_if(targets().begin(), targets().end(), [&](const Target* t) { return t->name == name; });
  return found == targets().end() ? nullptr : *found;
}

void run_target(const Target& target, std::string bytes) {
  static const TemporaryDirectory scratch("tilescope-fuzz");
  const std::filesystem::path file = scratch.path() / target.file_name;
  // No write_file, and no O_TRUNC: both wait for the disk.
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::ftruncate(descriptor, static_cast<off_t>(bytes.size())) != 0)
    std::abort();
  ::close(descriptor);
  answered([&] {
    target.run({std::move(bytes), file.string()});
    return true;
  });
}

bool run_words(const std::vector<std::string>& words) {
  return answered([&] {
    const ExitStatus status = cli::dispatch(words);
    return status == ExitStatus::done || status == ExitStatus::answer_no;
  });
}

void silence() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO}) {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, descriptor);
    ::close(nothing);
  }
  std::cerr.rdbuf(nullptr);
  ::setenv("NVDISASM", "/dev/null", 1);  // no disassembler is started
}

}  // namespace tilescope::fuzz
