#include "kernel/code/sass/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

extern char** environ;

namespace tilescope {
namespace {

constexpr std::size_t most_error_bytes = std::size_t{64} << 10, piece_bytes = std::size_t{64} << 10;

struct Pipe {
  int read_end = -1, write_end = -1;

  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw InputError(Diagnostic{.message = fmt::format("no pipe: {}", std::strerror(errno))});
    read_end = ends[0], write_end = ends[1];
  }
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write() { shut(write_end); }
  void close_read() { shut(read_end); }

 private:
  static void shut(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// Reads both pipes until they end.
void drain(Pipe& output, Pipe& errors, ProcessResult& result) {
  std::string piece(piece_bytes, '\0');
  while (output.read_end >= 0 || errors.read_end >= 0) {
    std::array<pollfd, 2> waits{pollfd{output.read_end, POLLIN, 0}, pollfd{errors.read_end, POLLIN, 0}};
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      const ssize_t count = ::read(waits[i].fd, piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        (i == 0 ? output : errors).close_read();
        continue;
      }
      std::string& text = i == 0 ? result.output : result.errors;
      if (i == 0 || text.size() < most_error_bytes) text.append(piece, 0, static_cast<std::size_t>(count));
    }
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& words) {
  Pipe output, errors;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write_end, STDERR_FILENO);
  for (const int end : {output.read_end, output.write_end, errors.read_end, errors.write_end})
    if (end > STDERR_FILENO) posix_spawn_file_actions_addclose(&actions, end);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw InputError(Diagnostic{.file = words[0], .message = fmt::format("cannot be run: {}", std::strerror(failed))});
  output.close_write(), errors.close_write();
  ProcessResult result;
  drain(output, errors, result);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  constexpr int signalled = 128;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : signalled + WTERMSIG(status);
  return result;
}

}  // namespace tilescope
