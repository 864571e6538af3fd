#include "cli/output/help/help.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/output/fit.h"

namespace tilescope::cli {
namespace {

// "  name   text", the text wrapped under itself.
std::string entry(const std::string& name, std::size_t name_width, const std::string& text, std::size_t width) {
  const std::string lead = fmt::format("  {:{}} ", name, name_width);
  if (width == 0 || lead.size() + 20 > width) return lead + text + "\n";
  std::string out, indent = lead;
  for (const std::string& line : folded(text, width - lead.size())) {
    out += indent + line + "\n";
    indent = std::string(lead.size(), ' ');
  }
  return out;
}

std::string wrapped(const std::string& text, std::size_t width) { return width == 0 ? text : fitted(text, width); }

}  // namespace

std::string spelling(const OptionSpec& spec) {
  switch (spec.value) {
    case Value::flag:
      return spec.name;
    case Value::count:
      return spec.name + " N";
    case Value::file:
    case Value::output_file:
      return spec.name + " FILE";
    case Value::directory:
    case Value::output_directory:
      return spec.name + " DIRECTORY";
    case Value::hardware:
      return spec.name + " GPU";
    case Value::kernel:
    case Value::schedule:
    case Value::diagram:
    case Value::workload:
    case Value::command:
      return spec.name + " NAME";
    case Value::choice:
      return spec.name + " WORD";
    case Value::text:
      return spec.name + " VALUE";
  }
  return spec.name;
}

std::string program_help(std::size_t width) {
  std::string out =
      "tilescope: IO-complexity performance model of attention, checked against hardware counters\n\n"
      "usage: tilescope <command> [options]\n\n";
  for (const Command& command : commands()) out += entry(command.name, 10, command.summary, width);
  out +=
      "\nexample:\n  tilescope predict --hardware h200_sxm --kernel fused_mma --batch 4 --heads 16 --q-len 4k "
      "--head-dim 128\n\n"
      "tilescope help <command> shows a command's options, tilescope --version the versions of program and files.\n"
      "Exit status: 0 done, 1 the answer is no, 2 bad input, 3 no device, 141 the reader closed standard output.\n";
  return wrapped(out, width);
}

std::string command_help(const Command& command, std::size_t width) {
  std::string out =
      fmt::format("usage: tilescope {} {}\n\n{}\n\noptions:\n", command.name, command.usage, command.summary);
  for (const OptionSpec& spec : command.options()) out += entry("--" + spelling(spec), 24, spec.help, width);
  out += "\nexamples:\n";
  for (const std::string& example : command.examples) out += "  " + example + "\n";
  if (!command.notes.empty()) out += "\n" + command.notes + "\n";
  return wrapped(out, width);
}

}  // namespace tilescope::cli
