// Which 8-byte words of a kernel's parameters hold addresses of device memory. Launches that differ in addresses alone
// are of one kind, so a launch is looked up without them and its parameters are written once.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilescope::capture {

// Device addresses of CUDA on 64-bit hosts lie between these.
inline constexpr std::uint64_t least_address = std::uint64_t{1} << 32, end_of_addresses = std::uint64_t{1} << 48;
inline bool may_be_address(std::uint64_t word) { return word >= least_address && word < end_of_addresses; }

class AddressWords {
 public:
  // Adds offsets in bytes. The caller holds a lock; other threads may read meanwhile.
  void add(std::span<const std::uint32_t> offsets);
  // Replaces the words by a sign where they may be addresses, and appends what stood there to `kept`.
  void hide(std::string& parameters, std::vector<std::uint64_t>& kept) const;
  // Puts them back.
  static void restore(std::string& parameters, std::vector<std::uint64_t>& kept);

 private:
  // Each list is published whole and stays, since other threads may read it. There are at most as many as a kernel's
  // parameters have words.
  std::vector<std::unique_ptr<const std::vector<std::uint32_t>>> versions_;
  std::atomic<const std::vector<std::uint32_t>*> offsets_ = nullptr;
};

}  // namespace tilescope::capture
