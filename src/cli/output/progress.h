// A progress bar on standard error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tilescope::cli {

class Arguments;

// Appears after one second, on a terminal and without --quiet. A separate thread draws the bar, so that reporting
// progress costs two stores. The destructor removes the bar.
class Progress {
 public:
  // `what`: the text beside the bar, as in "comparing records". wanted = false: no bar.
  Progress(const Arguments& arguments, std::string what, bool wanted = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::size_t done, std::size_t all);                // all = 0: unknown, only the time is shown
  std::function<void(std::size_t, std::size_t)> callback();  // calls `at`; must not outlive this object
  void note(const std::string& line);                        // prints a line above the bar

 private:
  void draw();
  void run();

  std::string what_;
  std::size_t width_ = 0;  // width of the terminal; 0: no bar
  std::atomic<std::size_t> done_ = 0, all_ = 0;
  double seconds_ = 0;  // from the start to the last drawing
  bool drawn_ = false, ended_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  std::thread thread_;
};

// "comparing records [######....]  60 % 12 s", of at most `width` characters. all = 0: unknown.
std::string progress_line(const std::string& what, std::size_t done, std::size_t all, double seconds,
                          std::size_t width);

}  // namespace tilescope::cli
