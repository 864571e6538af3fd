// Writes records of trace_format.h. The file is mapped, a window at a time, so that a record survives any end of the
// process without a system call a record.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "records/capture/trace_format.h"

namespace tilescope::capture {

class TraceWriter {
 public:
  // A new file DIRECTORY/PID-N.trace. false: it cannot be written.
  bool open(const std::string& directory);
  // Thread-safe. Does nothing before open, after close, in a forked child, and once `limit` bytes are written.
  void put(TraceKind kind, std::span<const std::uint64_t> words, std::string_view bytes = {});
  void put(TraceKind kind, std::initializer_list<std::uint64_t> words, std::string_view bytes = {}) {
    put(kind, std::span(words.begin(), words.size()), bytes);
  }
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Cuts the file to its length. A thread that was interrupted while it wrote keeps it as long as its window.
  void close();
  // In a forked child: the file is the parent's.
  void abandon() { active_ = false; }

 private:
  static constexpr std::size_t window_bytes = std::size_t{4} << 20;
  static constexpr std::size_t limit = std::size_t{1} << 30;

  bool next_window();
  void append(TraceKind kind, std::span<const std::uint64_t> words, std::string_view bytes);

  std::atomic<bool> active_ = false;
  std::timed_mutex mutex_;
  int file_ = -1;
  char* window_ = nullptr;
  std::size_t used_ = 0;    // of the window
  std::size_t before_ = 0;  // bytes of the file before the window
};

}  // namespace tilescope::capture
