#include "cli/cli.h"

#include <fmt/format.h>

#include <csignal>
#include <iostream>
#include <new>

#include "base/checked.h"
#include "base/text.h"

namespace tilescope::cli {
namespace {

struct Command {
  std::string name, summary;
  ExitStatus (*run)(const std::vector<std::string>&);
};

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      {"hardware", "list, show or check GPU profiles", hardware_command},
      {"predict", "traffic at every level, work, footprint, time and bottleneck of one point", predict_command},
      {"explain", "the same, term by term, with formula and causing loops", explain_command},
      {"derive", "what follows from a diagram: roles, streams, legal schedules, H*(M), bounds", derive_command},
      {"search", "the best tiling under the capacities, and why the others fell out", search_command},
      {"compare", "GPUs x dtypes x kernels side by side", compare_command},
      {"sweep", "many points to CSV or JSON Lines", sweep_command},
      {"measure", "run kernels under hardware counters, write records (needs a GPU)", measure_command},
      {"validate", "predictions against records, with tolerances", validate_command},
      {"records", "convert records between a file of lines and a file a point", records_command},
      {"report", "one self-contained HTML page (or Markdown, JSON, CSV)", report_command},
  };
  return table;
}

void print_help() {
  std::cout << "tilescope: IO-complexity performance model of attention, checked against hardware counters\n\n"
               "usage: tilescope <command> [options]\n\n";
  for (const Command& command : commands()) std::cout << fmt::format("  {:9} {}\n", command.name, command.summary);
  std::cout << "\nexample:\n  tilescope predict --hardware h200_sxm --kernel fused_mma --batch 4 --heads 16 --q-len 4k "
               "--head-dim 128\n\n"
               "tilescope <command> --help shows a command's options. Exit status: 0 done, 1 the answer is no, 2 bad "
               "input, 3 no device.\n";
}

ExitStatus dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? ExitStatus::bad_input : ExitStatus::done;
  }
  if (words[0] == "--version") {
    std::cout << "tilescope " << TILESCOPE_VERSION << "\n";
    return ExitStatus::done;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == words[0]) return command.run({words.begin() + 1, words.end()});
    names.push_back(command.name);
  }
  throw InputError(Diagnostic{
      .path = "command", .message = fmt::format("unknown command '{}'{}", words[0], did_you_mean(words[0], names))});
}

int fail(ExitStatus status, const std::string& message) {
  std::cerr << message << "\n";
  return static_cast<int>(status);
}

}  // namespace

int run(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves early is a write error, not a signal
  try {
    const int status = static_cast<int>(dispatch(words));
    std::cout.flush();
    if (!std::cout) return fail(ExitStatus::bad_input, "error: standard output cannot be written; is the disk full?");
    return status;
  } catch (const InputError& error) {
    return fail(ExitStatus::bad_input, error.what());
  } catch (const CountOverflow& error) {
    return fail(ExitStatus::bad_input, fmt::format("error: {}", error.what()));
  } catch (const DeviceError& error) {
    return fail(ExitStatus::no_device, fmt::format("error: {}", error.what()));
  } catch (const std::bad_alloc&) {
    return fail(ExitStatus::bad_input, "error: out of memory; use fewer or smaller points");
  } catch (const std::exception& error) {
    return fail(ExitStatus::bad_input, fmt::format("error: internal: {}; please report this", error.what()));
  }
}

}  // namespace tilescope::cli
