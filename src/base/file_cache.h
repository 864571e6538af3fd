// Values made of files, kept for as long as the files stay as they are: by time of writing and size.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilescope {

template <class Value>
class FileCache {
 public:
  // The value kept under the key, or a new one. What `make` throws is passed on, and nothing is kept. `files` need not
  // exist.
  template <class Make>
  std::shared_ptr<const Value> get(const std::string& key, const std::vector<std::filesystem::path>& files, Make make) {
    const Stamps stamps = stamps_of(files);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = kept_.find(key); found != kept_.end() && found->second.stamps == stamps)
        return found->second.value;
    }
    auto value = std::make_shared<const Value>(make());
    const std::lock_guard lock(mutex_);
    kept_[key] = {stamps, value};
    return value;
  }

 private:
  using Stamps = std::vector<std::pair<std::filesystem::file_time_type, std::uintmax_t>>;
  struct Kept {
    Stamps stamps{};
    std::shared_ptr<const Value> value{};
  };

  static Stamps stamps_of(const std::vector<std::filesystem::path>& files) {
    Stamps stamps;
    for (const std::filesystem::path& file : files) {
      std::error_code none;
      const auto written = std::filesystem::last_write_time(file, none);
      const auto size = std::filesystem::file_size(file, none);
      stamps.emplace_back(written, size);
    }
    return stamps;
  }

  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

}  // namespace tilescope
