// doctest's main with options of our own: --quick (few small shapes; for compute-sanitizer), --kernel=NAME (its
// variants alone) and --seed=N.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string_view>

#include "test/options.h"

namespace tilescope::kernels {
TestOptions& test_options() {
  static TestOptions options;
  return options;
}

std::vector<Variant> tested_variants() {
  std::vector<Variant> variants = built_variants();
  const std::string& kernel = test_options().kernel;
  if (!kernel.empty()) std::erase_if(variants, [&](const Variant& variant) { return variant.kernel != kernel; });
  return variants;
}
}  // namespace tilescope::kernels

int main(int argc, char** argv) {
  auto& options = tilescope::kernels::test_options();
  options.seed = std::random_device{}();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") options.quick = true;
    if (argument.starts_with("--kernel=")) options.kernel = argument.substr(9);
    if (argument.starts_with("--seed=")) options.seed = std::strtoull(argv[i] + 7, nullptr, 10);
  }
  if (tilescope::kernels::tested_variants().empty()) {
    fmt::print(stderr, "error: --kernel={}: no bundled kernel has this name\n", options.kernel);
    return 2;
  }
  fmt::print("seed {} (repeat with --seed={})\n", options.seed, options.seed);
  doctest::Context context(argc, argv);
  return context.run();
}
