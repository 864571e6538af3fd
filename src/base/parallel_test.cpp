#include "base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/test_seed.h"

namespace parallel_test {

using namespace tilescope;

TEST_CASE("items are taken in their order, each once and with what its slot holds, whatever the number of threads") {
  std::mt19937 random(test_seed());
  for (const std::size_t threads : {1U, 2U, 3U, 7U, 32U})
    for (int round = 0; round < 20; ++round) {
      const std::size_t items = random() % 500;
      std::vector<unsigned> work(items);
      for (unsigned& each : work) each = static_cast<unsigned>(random() % 2000);
      std::vector<std::size_t> slots(slots_of(threads)), taken;
      in_order(
          items, threads,
          [&](std::size_t item, std::size_t slot) {
            volatile unsigned spin = 0;
            for (unsigned i = 0; i < work[item]; ++i) spin = spin + i;
            slots[slot] = item * item;
          },
          [&](std::size_t item, std::size_t slot) {
            taken.push_back(item);
            REQUIRE(slots[slot] == item * item);
          });
      REQUIRE(taken.size() == items);
      for (std::size_t i = 0; i < items; ++i) REQUIRE(taken[i] == i);
    }
}

TEST_CASE("a long item does not hold back the others where there is a slot for each") {
  constexpr std::size_t items = 300;
  std::atomic<std::size_t> others = 0;
  std::size_t taken = 0;
  in_order(
      items, 2,
      [&](std::size_t item, std::size_t) {
        if (item > 0) return void(++others);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (others + 1 < items && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      },
      [&](std::size_t item, std::size_t slot) {
        CHECK(others + 1 == items);  // before the first one's turn
        CHECK(slot == item);
        CHECK(item == taken++);
      },
      items);
  CHECK(taken == items);
}

TEST_CASE("the first failure by order ends the work, and what comes before it is taken") {
  for (const std::size_t threads : {1U, 2U, 7U})
    for (int round = 0; round < 20; ++round) {
      std::size_t taken = 0;
      std::string message;
      try {
        in_order(
            200, threads,
            [](std::size_t item, std::size_t) {
              if (item >= 50 && item % 3 == 2) throw std::runtime_error(std::to_string(item));
            },
            [&](std::size_t, std::size_t) { ++taken; });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      REQUIRE(message == "50");
      REQUIRE(taken == 50);
    }
}

TEST_CASE("each item is made once, inside other work too, and the first failure by order is thrown") {
  std::mt19937 random(test_seed());
  for (const std::size_t threads : {1U, 2U, 7U})
    for (int round = 0; round < 10; ++round) {
      const std::size_t outer = 1 + random() % 6, inner = random() % 40, fails = random() % 60;
      std::vector<int> made(outer * inner, 0);
      std::string message;
      try {
        in_order(
            outer, threads,
            [&](std::size_t item, std::size_t) {
              at_once(inner, [&](std::size_t i) {
                ++made[item * inner + i];
                if (i >= fails) throw std::runtime_error(std::to_string(item * inner + i));
              });
            },
            [](std::size_t, std::size_t) {});
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      REQUIRE(message == (fails < inner ? std::to_string(fails) : ""));
      for (std::size_t i = 0; i < made.size(); ++i) REQUIRE(made[i] <= 1);
      if (fails >= inner)
        for (const int each : made) REQUIRE(each == 1);
    }
}

}  // namespace parallel_test
