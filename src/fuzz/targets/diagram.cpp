// Diagrams, then roles, streams and schedules derived from small ones.
#include "diagram/diagram.h"

#include "fuzz/target.h"

namespace tilescope::fuzz {
namespace {

void give_diagram(const Input& input) {
  constexpr std::size_t most_operators = 6;  // more take seconds to derive
  const Diagram diagram = load_diagram(input.file);
  if (diagram.operators.size() <= most_operators)
    run_words({"derive", input.file, "--q-len", "256", "--top", "2", "--memory", "20000"});
}

}  // namespace

const Target diagram{.name = "diagram", .file_name = "diagram.yaml", .run = give_diagram};

}  // namespace tilescope::fuzz
