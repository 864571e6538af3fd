// Writes a command's answer to standard output or to -o FILE, in the chosen layout.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "cli/output/table.h"

namespace tilescope::cli {

class Arguments;

// Thrown when the reader of standard output has closed it, as `head` does. Ends the program without a message.
struct ReaderGone {};

// Writes to standard output. Throws ReaderGone for a closed pipe, InputError for every other failure.
void print(std::string_view text);

// Writes a line to standard error, wrapped to the width of its terminal.
void print_note(const std::string& line);

// The layout that --format, --color, -o and the terminal give. Files and pipes have no line width.
Style style_of(const Arguments& arguments);

// Prints to stdout, or to -o FILE atomically. Text for a terminal is wrapped to its width.
void deliver(const Arguments& arguments, const std::string& content);

// Writes an answer in pieces. The file is empty or unchanged until `commit`.
class Output {
 public:
  explicit Output(const Arguments& arguments);
  void write(std::string_view text);
  void flush();  // to standard output; a file waits for `commit`
  void commit();

 private:
  std::unique_ptr<OutputFile> file_;  // null: standard output
  std::string waiting_;               // buffer for standard output
};

// Throws InputError when an option that names a file or directory to write (-o, --junit, ...) names a place that cannot
// be written. Called before a command starts its work.
void check_output_paths(const Arguments& arguments);

}  // namespace tilescope::cli
