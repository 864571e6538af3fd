#include "cli/output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "cli/input/options.h"
#include "cli/output/terminal.h"

namespace tilescope::cli {
namespace {

constexpr std::chrono::milliseconds first_drawn{1000}, redrawn{200};
constexpr const char* clear_line = "\r\x1b[K";

}  // namespace

std::string progress_line(const std::string& what, std::size_t done, std::size_t all, double seconds,
                          std::size_t width) {
  const std::string time = fmt::format(" {:.0f} s", seconds);
  if (all == 0) return (what + time).substr(0, width);
  const std::size_t part = 100 * std::min(done, all) / all;
  const std::string right = fmt::format(" {:3} %{}", part, time), left = what + " ";
  const std::size_t taken = left.size() + right.size() + 2;
  if (taken + 10 > width) return (what + right).substr(0, width);
  const std::size_t cells = std::min<std::size_t>(40, width - taken), full = cells * part / 100;
  return left + "[" + std::string(full, '#') + std::string(cells - full, '.') + "]" + right;
}

Progress::Progress(const Arguments& arguments, std::string what, bool wanted) : what_(std::move(what)) {
  width_ = arguments.quiet() || !wanted ? 0 : terminal_width(STDERR_FILENO);
  if (width_ > 0) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_all();
  thread_.join();
  if (drawn_) std::cerr << clear_line << std::flush;
}

void Progress::at(std::size_t done, std::size_t all) { done_ = done, all_ = all; }

std::function<void(std::size_t, std::size_t)> Progress::callback() {
  return [this](std::size_t done, std::size_t all) { at(done, all); };
}

void Progress::note(const std::string& line) {
  if (width_ == 0) return;
  const std::lock_guard lock(mutex_);
  std::cerr << (drawn_ ? clear_line : "") << line << "\n";
  if (drawn_) draw();
}

void Progress::draw() {
  std::cerr << clear_line << progress_line(what_, done_, all_, seconds_, width_ - 1) << std::flush;
  drawn_ = true;
}

void Progress::run() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (auto wait = first_drawn; !end_.wait_for(lock, wait, [this] { return ended_; }); wait = redrawn) {
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    draw();
  }
}

}  // namespace tilescope::cli
