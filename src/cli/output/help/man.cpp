#include "cli/output/help/man.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/output/help/help.h"

namespace tilescope::cli {
namespace {

// Text with roff's special characters escaped: backslashes, hyphens of options, a dot or quote that begins a line.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string head(const std::string& name, const std::string& summary) {
  std::string title = name;
  for (char& c : title)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return fmt::format(".TH {} 1 \"\" \"tilescope {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", title,
                     TILESCOPE_VERSION, roff(name), roff(summary));
}

std::string paragraphs(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += ".PP\n" + roff(line) + "\n";
  return out;
}

std::string item(const std::string& term, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(term), roff(text));
}

const char* exit_status =
    ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nthe answer is no: infeasible, outside tolerance, check failed\n"
    ".TP\n.B 2\nbad usage or input\n.TP\n.B 3\nno device, no permission, device fault\n"
    ".TP\n.B 141\nthe reader closed standard output before its end\n";

}  // namespace

std::string program_man_page() {
  std::string page =
      head("tilescope", "IO-complexity performance model of attention, checked against hardware counters");
  page += ".SH SYNOPSIS\n.B tilescope\n.I command\n[\\fIoptions\\fR]\n.br\n.B tilescope \\-\\-version\n.SH COMMANDS\n";
  for (const Command& command : commands()) page += item("tilescope-" + command.name + "(1)", command.summary);
  page += ".SH OPTIONS\n" + item("--version", "version, git revision, CUDA and CUPTI, schemas of files") +
          item("--help", "the list of commands");
  page += exit_status;
  page += ".SH ENVIRONMENT\n" +
          item("TILESCOPE_DATA", "folder with hardware, models, kernels and validate, instead of the installed one") +
          item("NO_COLOR", "no colours, when set to anything") +
          item("COLUMNS", "width of the terminal, instead of what the terminal says");
  return page;
}

std::string command_man_page(const Command& command) {
  std::string page = head("tilescope-" + command.name, command.summary);
  page += fmt::format(".SH SYNOPSIS\n.B tilescope {}\n{}\n.SH OPTIONS\n", roff(command.name), roff(command.usage));
  for (const OptionSpec& spec : command.options()) page += item("--" + spelling(spec), spec.help);
  page += ".SH EXAMPLES\n";
  for (const std::string& example : command.examples) page += ".PP\n.nf\n" + roff(example) + "\n.fi\n";
  if (!command.notes.empty()) page += ".SH NOTES\n" + paragraphs(command.notes);
  return page + exit_status + ".SH SEE ALSO\n.BR tilescope (1)\n";
}

}  // namespace tilescope::cli
