// libFuzzer's side: the first word, or the variable TILESCOPE_FUZZ_TARGET, names the target.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/mutate.h"
#include "fuzz/target.h"

namespace {

using namespace tilescope::fuzz;

constexpr const char* variable = "TILESCOPE_FUZZ_TARGET";  // workers that libFuzzer starts inherit it
const Target* chosen = nullptr;

}  // namespace

// Names that libFuzzer looks for.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

int LLVMFuzzerInitialize(int* count, char*** words) {
  if (std::getenv(variable) == nullptr && *count > 1) {
    ::setenv(variable, (*words)[1], 1);
    std::memmove(*words + 1, *words + 2, sizeof(char*) * static_cast<std::size_t>(*count - 1));
    --*count;
  }
  const char* name = std::getenv(variable);
  chosen = name == nullptr ? nullptr : find_target(name);
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: tilescope_fuzz TARGET [libFuzzer's options] [CORPUS]; targets:\n");
    for (const Target* each : targets()) std::fprintf(stderr, "  %s\n", std::string(each->name).c_str());
    std::exit(2);
  }
  silence();
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run_target(*chosen, std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (!chosen->is_text || seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text = mutated_text(std::string(reinterpret_cast<const char*>(data), size), seed);
  if (text.empty() || text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
