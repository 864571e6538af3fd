// Numbers for every name of a cascade, to run it.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "expr/evaluate.h"
#include "stream/cascade.h"

namespace tilescope {

struct StreamData {
  std::string axis;
  std::size_t positions = 0;
  std::map<std::string, std::vector<double>> streamed{};  // one value a position
  std::map<std::string, std::vector<bool>> masked{};      // of names that may be masked: true where they are
  std::map<std::string, double> constants{};
  std::map<std::string, double> sizes{}, indices{};  // of axes other than the streamed one
};

// Values uniform in [least, most]; of every masked name about a third of the positions is masked, in runs, the last
// position never.
StreamData random_stream_data(const Cascade& cascade, std::size_t positions, double least, double most,
                              std::mt19937_64& random);

// Whether a fold skips a position: its body reads a name that is masked there.
bool skipped(const StreamData& data, const std::vector<std::string>& names_read, std::size_t position);

}  // namespace tilescope
