#include "validate/capture/inject/address_words.h"

#include <algorithm>

namespace tilescope::capture {

void AddressWords::add(std::span<const std::uint32_t> offsets) {
  const std::vector<std::uint32_t>* const known = offsets_.load(std::memory_order_relaxed);
  std::vector<std::uint32_t> all = known != nullptr ? *known : std::vector<std::uint32_t>();
  for (const std::uint32_t offset : offsets)
    if (std::find(all.begin(), all.end(), offset) == all.end()) all.push_back(offset);
  if (known != nullptr && all.size() == known->size()) return;
  versions_.push_back(std::make_unique<const std::vector<std::uint32_t>>(std::move(all)));
  offsets_.store(versions_.back().get(), std::memory_order_release);
}

void AddressWords::hide(std::string& parameters, std::vector<std::uint64_t>& kept) const {
  const std::vector<std::uint32_t>* const known = offsets_.load(std::memory_order_acquire);
  if (known == nullptr) return;
  for (const std::uint32_t offset : *known) {
    std::uint64_t word = 0;
    if (offset + sizeof(word) > parameters.size()) continue;
    std::memcpy(&word, parameters.data() + offset, sizeof(word));
    if (!may_be_address(word)) continue;
    kept.push_back(offset), kept.push_back(word);
    std::memcpy(parameters.data() + offset, &least_address, sizeof(word));
  }
}

void AddressWords::restore(std::string& parameters, std::vector<std::uint64_t>& kept) {
  for (std::size_t i = 0; i + 1 < kept.size(); i += 2)
    std::memcpy(parameters.data() + kept[i], &kept[i + 1], sizeof(std::uint64_t));
  kept.clear();
}

}  // namespace tilescope::capture
