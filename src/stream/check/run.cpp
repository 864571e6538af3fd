#include "stream/check/run.h"

#include <cmath>

namespace tilescope {
namespace {

struct Names : Lookup {
  double array(const std::string& name) const override {
    if (const auto slot = slots->find(name); slot != slots->end()) {
      const double value = (name.ends_with('\'') ? *next : *old).values[slot->second];
      return accumulating && std::isinf(value) ? 0 : value;
    }
    if (const auto column = data->streamed.find(name); column != data->streamed.end()) return column->second[position];
    return data->constants.at(name);
  }
  double index(const std::string& axis) const override {
    return axis == data->axis ? static_cast<double>(position) : data->indices.at(axis);
  }
  double size(const std::string& axis) const override {
    return axis == data->axis ? static_cast<double>(old->positions) : data->sizes.at(axis);
  }
  const std::map<std::string, std::size_t, std::less<>>* slots = nullptr;
  const StreamData* data = nullptr;
  const StreamState* old = nullptr;
  const StreamState* next = nullptr;
  std::size_t position = 0;
  bool accumulating = true;  // within a contribution or repair, not a finaliser
};

struct OutputNames : Lookup {
  explicit OutputNames(const std::map<std::string, double>& all) : outputs(all) {}
  double array(const std::string& name) const override { return outputs.at(name); }
  double index(const std::string&) const override { return 0; }
  double size(const std::string&) const override { return 0; }
  const std::map<std::string, double>& outputs;
};

Names names(const std::map<std::string, std::size_t, std::less<>>& slots, const StreamData& data,
            const StreamState& old, const StreamState& next) {
  Names result;
  result.slots = &slots, result.data = &data, result.old = &old, result.next = &next;
  return result;
}

}  // namespace

StreamRun::StreamRun(const Witness& witness, const StreamData& data) : witness_(witness), data_(data) {
  for (std::size_t i = 0; i < witness.state.size(); ++i) {
    slots_.emplace(witness.state[i].name, i);
    slots_.emplace(witness.state[i].name + "'", i);
  }
}

StreamState StreamRun::initial() const {
  StreamState state;
  for (const StateVariable& variable : witness_.state) state.values.push_back(variable.unit());
  return state;
}

// The unit needs no repair, because nothing has been accumulated.
double StreamRun::repaired(std::size_t variable, const StreamState& old, const StreamState& next) const {
  const StateVariable& v = witness_.state[variable];
  const double value = old.values[variable];
  if (!v.repair || value == v.unit()) return value;
  return value * evaluate(*v.repair, names(slots_, data_, old, next));
}

StreamState StreamRun::advanced(const StreamState& state, std::size_t begin, std::size_t end) const {
  StreamState next = state;
  next.positions += end - begin;
  for (std::size_t i = 0; i < witness_.state.size(); ++i) {
    const StateVariable& v = witness_.state[i];
    double value = repaired(i, state, next);
    Names at = names(slots_, data_, state, next);
    for (at.position = begin; at.position < end; ++at.position)
      if (!skipped(data_, v.guards, at.position)) value = fold_values(v.kind, value, evaluate(v.contribution, at));
    next.values[i] = value;
  }
  return next;
}

StreamState StreamRun::merged(const StreamState& a, const StreamState& b) const {
  StreamState next{a.values, a.positions + b.positions};
  for (std::size_t i = 0; i < witness_.state.size(); ++i)
    next.values[i] = fold_values(witness_.state[i].kind, repaired(i, a, next), repaired(i, b, next));
  return next;
}

double StreamRun::valued(const Expression& value, const StreamState& state) const {
  Names at = names(slots_, data_, state, state);
  at.accumulating = false;
  return evaluate(value, at);
}

std::map<std::string, double> StreamRun::outputs(const StreamState& state) const {
  std::map<std::string, double> result;
  for (const Output& output : witness_.finaliser) result[output.name] = valued(output.value, state);
  return result;
}

std::map<std::string, double> StreamRun::folds(const StreamState& state) const {
  std::map<std::string, double> result;
  for (const FoldWitness& fold : witness_.folds) result[fold.fold] = valued(fold.value, state);
  return result;
}

StreamState StreamRun::section(const std::map<std::string, double>& outputs, std::size_t positions) const {
  StreamState state{{}, positions};
  for (const auto& [name, value] : witness_.compact->section)
    state.values.push_back(evaluate(value, OutputNames(outputs)));
  return state;
}

std::vector<double> StreamRun::map(const Output& map, std::size_t begin, std::size_t end) const {
  const StreamState none = initial();
  Names at = names(slots_, data_, none, none);
  std::vector<double> result;
  for (at.position = begin; at.position < end; ++at.position) result.push_back(evaluate(map.value, at));
  return result;
}

}  // namespace tilescope
