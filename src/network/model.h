// Predictions of a whole model: time of its attention, memory, and what fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "network/question.h"
#include "predict/explain/column.h"

namespace tilescope {

// What one group of layers takes.
struct GroupTime {
  std::string name = {};
  std::int64_t layers = 0;
  std::string kernel = {};   // of its longest call
  double layer_seconds = 0;  // one layer
  std::string bound_by = {};
};

// One GPU, format, kernel choice, context and phase.
struct ModelRow {
  std::string hardware = {}, dtype = {}, asked_kernel = {};
  Phase phase = Phase::decode;
  const ContextMix* mix = nullptr;
  std::int64_t gpus = 1;
  std::string reason = {};  // why there is no time; empty: there is

  std::vector<GroupTime> groups = {};
  double attention_seconds = 0;  // of all layers: a decode step, or all prompts of the batch
  double joules = 0;             // of it, on one GPU; 0: not known
  std::optional<double> error =
      {};  // 90th percentile of |error| of records, weighted by time; nullopt: a part has none
  std::optional<double> matrix_seconds = {};  // of the other matrices; nullopt: not asked
  std::string basis = {};                     // of the rates, as --basis
  std::string model = {};                     // of time: blocks, or bound

  std::int64_t cache_bytes_of_token = 0, cache_bytes = 0, weight_bytes = 0;
  double capacity_bytes = 0;  // 0: not known
  bool past_maximum = false;  // a sequence is longer than the model takes
  std::optional<std::int64_t> largest_batch = {}, longest_context = {};

  std::int64_t tokens = 0;  // that the seconds are for
  std::optional<double> price = {};

  bool fits() const {
    return !past_maximum && static_cast<double>(cache_bytes) + static_cast<double>(weight_bytes) <= capacity_bytes;
  }
  double seconds() const { return attention_seconds + matrix_seconds.value_or(0); }
};

// One row for each GPU, format, kernel, context and phase, in this order. A combination that cannot run gets the reason
// and the others go on.
std::vector<ModelRow> model_rows(const ModelQuestion& question,
                                 const std::function<void(std::size_t done, std::size_t all)>& progress = {});

const Columns<ModelRow>& model_columns();
const Columns<AttentionGroup>& attention_group_columns();
ColumnList model_column_list();

Json model_json(const ModelQuestion& question, const std::vector<ModelRow>& rows);  // tilescope/model/1

}  // namespace tilescope
