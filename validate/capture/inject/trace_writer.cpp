#include "validate/capture/inject/trace_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

namespace tilescope::capture {

bool TraceWriter::open(const std::string& directory) {
  // A process that replaces its program keeps its number.
  for (int attempt = 0; attempt < 100 && file_ < 0; ++attempt) {
    const std::string name = directory + "/" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".trace";
    file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  active_ = file_ >= 0 && next_window();
  return active_;
}

// The space is allocated on the disk first: a write into a mapped hole of a full disk would end the process.
bool TraceWriter::next_window() {
  if (window_ != nullptr) {
    ::munmap(window_, window_bytes);
    before_ += window_bytes;
  }
  window_ = nullptr;
  used_ = 0;
  if (::posix_fallocate(file_, static_cast<off_t>(before_), static_cast<off_t>(window_bytes)) != 0) return false;
  void* mapped = ::mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(before_));
  if (mapped == MAP_FAILED) return false;
  window_ = static_cast<char*>(mapped);
  return true;
}

void TraceWriter::append(TraceKind kind, std::span<const std::uint64_t> words, std::string_view bytes) {
  const TraceHead head{static_cast<std::uint16_t>(kind), static_cast<std::uint16_t>(words.size()),
                       static_cast<std::uint32_t>(bytes.size())};
  char* at = window_ + used_;
  if (!words.empty()) std::memcpy(at + 8, words.data(), words.size_bytes());
  if (!bytes.empty()) std::memcpy(at + 8 + words.size_bytes(), bytes.data(), bytes.size());
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(at, &head, sizeof(head));
  used_ += head.size();
}

void TraceWriter::put(TraceKind kind, std::span<const std::uint64_t> words, std::string_view bytes) {
  if (!active()) return;
  bytes = bytes.substr(0, window_bytes / 4);
  const std::size_t size =
      TraceHead{0, static_cast<std::uint16_t>(words.size()), static_cast<std::uint32_t>(bytes.size())}.size();
  const std::lock_guard lock(mutex_);
  if (!active()) return;
  if (used_ + size > window_bytes) {
    if (used_ < window_bytes) {
      const TraceHead head{static_cast<std::uint16_t>(TraceKind::skip), 0,
                           static_cast<std::uint32_t>(window_bytes - used_ - 8)};
      std::memcpy(window_ + used_, &head, sizeof(head));
    }
    if (!next_window()) {
      active_ = false;
      return;
    }
  }
  append(kind, words, bytes);
  if (before_ + used_ > limit) {
    constexpr std::string_view full = "the trace reached 1 GiB; later launches are not recorded";
    if (used_ + 8 + full.size() + 8 <= window_bytes) append(TraceKind::note, {}, full);
    active_ = false;
  }
}

void TraceWriter::close() {
  // A signal handler that ends the program may have interrupted `put` in this thread.
  const std::unique_lock lock(mutex_, std::chrono::milliseconds(200));
  if (!active_.exchange(false) || !lock.owns_lock()) return;
  ::munmap(window_, window_bytes);
  window_ = nullptr;
  if (::ftruncate(file_, static_cast<off_t>(before_ + used_)) != 0) return;  // zeros after the end do no harm
}

}  // namespace tilescope::capture
