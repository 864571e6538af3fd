#include "validate/capture/inject/address_words.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "base/test_seed.h"

namespace tilescope::capture {

TEST_CASE("parameters without their addresses are equal where only addresses differ, and come back as they were") {
  std::mt19937_64 random(test_seed() + 21);
  for (int round = 0; round < 500; ++round) {
    const std::size_t words = 1 + random() % 40;
    std::set<std::uint32_t> known;
    AddressWords addresses;
    for (int add = 0; add < 3; ++add) {
      std::vector<std::uint32_t> some;
      for (std::size_t i = random() % 4; i > 0; --i)
        some.push_back(static_cast<std::uint32_t>(8 * (random() % (words + 2))));
      addresses.add(some);
      known.insert(some.begin(), some.end());
    }
    std::vector<std::uint64_t> first(words), second(words);
    bool same = true;  // but for addresses
    for (std::size_t i = 0; i < words; ++i) {
      const auto draw = [&]() -> std::uint64_t {
        return random() % 2 == 0 ? least_address + random() % (end_of_addresses - least_address) : random() % 3;
      };
      first[i] = draw(), second[i] = random() % 8 == 0 ? draw() : first[i];
      const bool hidden = known.contains(static_cast<std::uint32_t>(8 * i));
      if (hidden && may_be_address(first[i]) && random() % 2 == 0) second[i] = least_address + random() % 1000;
      same = same && (first[i] == second[i] || (hidden && may_be_address(first[i]) && may_be_address(second[i])));
    }
    const auto bytes = [&](const std::vector<std::uint64_t>& from) {
      return std::string(reinterpret_cast<const char*>(from.data()), 8 * words);
    };
    std::string a = bytes(first), b = bytes(second);
    std::vector<std::uint64_t> kept_a, kept_b;
    addresses.hide(a, kept_a), addresses.hide(b, kept_b);
    CHECK((a == b) == same);
    AddressWords::restore(a, kept_a), AddressWords::restore(b, kept_b);
    CHECK(a == bytes(first));
    CHECK(b == bytes(second));
    CHECK(kept_a.empty());
  }
}

}  // namespace tilescope::capture
