// Between the library's types and the program's own. Not installed.
#pragma once

#include "base/checked.h"
#include "base/error.h"
#include "predict/explain/json.h"
#include "request/option_specs.h"
#include "tilescope/types.h"

namespace tilescope::api {

// The options, checked against those that the command takes.
tilescope::Options checked(const Options& given, const std::vector<OptionSpec>& specs);

Cell cell_of(const Json& value);
Table table_of(const Json& objects);  // an array of objects with the same keys

// What `work` returns; bad input of any kind becomes BadInput.
template <class Work>
auto answering(Work work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw BadInput(error.what());
  } catch (const CountOverflow& error) {
    throw BadInput(error.what());
  }
}

}  // namespace tilescope::api
