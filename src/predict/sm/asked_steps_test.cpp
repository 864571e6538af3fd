// Threads that ask for a launch's steps at once.
#include "predict/sm/asked_steps.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace asked_steps_test {

using namespace tilescope;

TEST_CASE("each number of steps is made once, whoever asks, and stays where it is") {
  constexpr int threads = 8, numbers = 50, rounds = 20;
  AskedSteps asked;
  std::atomic<int> made = 0, wrong = 0;
  std::vector<std::vector<const AskedStep*>> seen(threads, std::vector<const AskedStep*>(numbers));
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      for (int i = 0; i < rounds * numbers; ++i) {
        const int number = (i * 7 + thread) % numbers;
        const AskedStep& one = asked.of(number, [&] {
          ++made;
          return AskedStep{.question = {.warps = number}};
        });
        wrong += one.question.warps != number;
        seen[static_cast<std::size_t>(thread)][static_cast<std::size_t>(number)] = &one;
        const AskedSteps copy = asked;  // as a launch with a faster rate begins
      }
    });
  for (std::thread& each : all) each.join();
  CHECK(made == numbers);
  CHECK(wrong == 0);
  for (const auto& of_thread : seen) CHECK(of_thread == seen.front());
}

}  // namespace asked_steps_test
