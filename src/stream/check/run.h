// Runs the online algorithm of a witness on numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stream/check/stream_data.h"
#include "stream/witness.h"

namespace tilescope {

// A state and the number of positions it has seen, masked ones included.
struct StreamState {
  std::vector<double> values;  // in the order of Witness::state
  std::size_t positions = 0;
};

class StreamRun {
 public:
  StreamRun(const Witness& witness, const StreamData& data);  // both must outlive the run

  StreamState initial() const;
  // B: processes positions [begin, end) as one chunk.
  StreamState advanced(const StreamState& state, std::size_t begin, std::size_t end) const;
  StreamState merged(const StreamState& a, const StreamState& b) const;
  std::map<std::string, double> outputs(const StreamState& state) const;
  std::map<std::string, double> folds(const StreamState& state) const;
  // The state that corresponds to these outputs. Requires a compact state.
  StreamState section(const std::map<std::string, double>& outputs, std::size_t positions) const;
  std::vector<double> map(const Output& map, std::size_t begin, std::size_t end) const;

 private:
  double repaired(std::size_t variable, const StreamState& old, const StreamState& next) const;
  double valued(const Expression& value, const StreamState& state) const;

  const Witness& witness_;
  const StreamData& data_;
  std::map<std::string, std::size_t, std::less<>> slots_;  // of name (old) and name' (new)
};

}  // namespace tilescope
