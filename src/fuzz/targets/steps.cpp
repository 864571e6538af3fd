// Programs of a kernel's steps, packed as in steps.zst or as the text of one: read and executed on a simulated SM.
#include <algorithm>

#include "base/data_directory.h"
#include "fuzz/target.h"
#include "hardware/profile.h"
#include "simulate/step_programs.h"
#include "simulate/unpack_steps.h"

namespace tilescope::fuzz {
namespace {

// Names of instances: lines "# SYMBOL".
std::vector<std::string> symbols_in(std::string_view text, std::size_t most) {
  std::vector<std::string> symbols;
  while (!text.empty() && symbols.size() < most) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with("# ")) symbols.emplace_back(line.substr(2));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return symbols;
}

void give_steps(const Input& input) {
  static const HardwareProfile gpu = find_profile("h200_sxm", data_directory() / "hardware");
  constexpr std::size_t most = 2;
  const bool packed = input.bytes.starts_with("\x28\xB5\x2F\xFD");
  const StepPrograms programs = packed ? StepPrograms(input.file) : StepPrograms(input.file, input.bytes);
  const std::vector<std::string> symbols =
      packed ? symbols_in(unpacked_steps(input.bytes, input.file), most) : std::vector<std::string>{"program"};
  for (const std::string& symbol : symbols)
    for (const bool masked : {false, true}) {
      const StepQuestion question{.symbol = symbol, .masked = masked, .warps = 8, .resident = 2};
      if (!programs.has(symbol)) continue;
      programs.clocks(question, gpu), programs.around(question, gpu);
      programs.before(question, gpu), programs.after(question, gpu);
    }
}

}  // namespace

const Target steps{.name = "steps", .file_name = "steps.zst", .run = give_steps};

}  // namespace tilescope::fuzz
