// What predictions state of their errors: validate/errors.json, ideal_errors.json and lack_costs.json.
#include "base/error.h"
#include "compare/lack_costs.h"
#include "fuzz/target.h"
#include "predict/explain/error_bar.h"
#include "predict/explain/ideal/ideal_error.h"

namespace tilescope::fuzz {
namespace {

// Each reader sees every file, and refuses those of the others.
void give_errors(const Input& input) {
  const auto read = [&](auto load) {
    try {
      load(input.file);
    } catch (const InputError&) {
    }
  };
  read([](const std::string& file) { ErrorBars::load(file); });
  read([](const std::string& file) { IdealErrors::load(file); });
  read([](const std::string& file) { read_lack_costs(file); });
}

}  // namespace

const Target errors{.name = "errors", .file_name = "errors.json", .run = give_errors};

}  // namespace tilescope::fuzz
