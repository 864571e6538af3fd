#include "network/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "hardware/derived.h"
#include "network/calls.h"
#include "network/layer_time.h"
#include "network/memory.h"
#include "request/choose_kernel.h"
#include "request/compared.h"

namespace tilescope {
namespace {

std::int64_t tokens_of(const ModelQuestion& question, Phase phase, const ContextMix& mix) {
  return phase == Phase::prefill ? mix.tokens() : checked_mul(mix.sequences(), 1 + question.speculative);
}

void add_memory(const ModelQuestion& question, const HardwareProfile& hardware, ModelRow& row) {
  const KvCache cache(question, row.dtype);
  row.cache_bytes_of_token = cache.bytes_of_token(), row.cache_bytes = cache.bytes(*row.mix);
  row.weight_bytes = weight_bytes(question);
  const MemoryLevel* hbm = hardware.level(LevelId::hbm);
  if (!hbm || !hbm->capacity_bytes) return;
  row.capacity_bytes = hbm->capacity_bytes->value;
  const auto room = static_cast<std::int64_t>(row.capacity_bytes) - row.weight_bytes;
  row.largest_batch = cache.largest_batch(*row.mix, room);
  row.longest_context = cache.longest_context(row.mix->sequences(), room);
  if (row.longest_context && question.network.context > 0)
    row.longest_context = std::min(*row.longest_context, question.network.context);
}

// What does not fit runs at no speed. Empty: it fits, or nobody knows.
std::string too_large(const ModelRow& row, const Network& network) {
  if (row.past_maximum) return fmt::format("past the model's maximum of {} tokens", with_thousands(network.context));
  if (row.capacity_bytes <= 0 || row.fits()) return {};
  return fmt::format("weights and caches need {:.4g} GB of {:.4g} GB",
                     static_cast<double>(row.cache_bytes + row.weight_bytes) / 1e9, row.capacity_bytes / 1e9);
}

// Sums the calls of every group. Throws InputError where one cannot run.
void add_time(const ModelQuestion& question, LayerTimes& times, ModelRow& row) {
  double with_error = 0, error = 0;
  for (const AttentionGroup& group : question.network.attention) {
    GroupTime& of_group = row.groups.emplace_back(GroupTime{.name = group.name, .layers = group.layers});
    double longest = 0;
    for (const AttentionCall& call : calls_of(group, row.phase, *row.mix, question)) {
      const CallTime& one = times.of(call);
      const double seconds = one.seconds * static_cast<double>(call.times), layers = static_cast<double>(group.layers);
      of_group.layer_seconds += seconds;
      row.joules += one.joules * static_cast<double>(call.times) * layers;
      if (one.error) with_error += seconds * layers, error += *one.error * seconds * layers;
      if (!one.modelled) row.model = "bound";
      if (seconds <= longest) continue;
      longest = seconds, of_group.kernel = one.kernel, of_group.bound_by = one.bound_by;
    }
    row.attention_seconds += of_group.layer_seconds * static_cast<double>(group.layers);
  }
  if (row.model.empty()) row.model = "blocks";
  if (with_error > 0 && with_error >= 0.99 * row.attention_seconds) row.error = error / with_error;
  if (question.whole_layer) row.matrix_seconds = matrix_seconds(question, times, row.phase, *row.mix);
}

// What shares predictions: a GPU, formats and a choice of kernel.
struct Cell {
  std::size_t gpu = 0;
  const std::string& dtype;
  const std::string& kernel;
};

std::vector<Cell> cells_of(const ModelQuestion& question) {
  std::vector<Cell> cells;
  for (std::size_t gpu = 0; gpu < question.hardware.size(); ++gpu)
    for (const std::string& dtype : question.dtypes)
      for (const std::string& kernel : question.kernels) cells.push_back({gpu, dtype, kernel});
  return cells;
}

// The rows of a cell: its contexts and phases, in this order.
std::vector<ModelRow> rows_of(const ModelQuestion& question, const Cell& cell, const HardwareProfile& hardware,
                              const std::string& basis) {
  std::vector<ModelRow> rows;
  LayerTimes times(question, question.hardware[cell.gpu], basis, cell.dtype, cell.kernel);
  for (const ContextMix& mix : question.contexts)
    for (const Phase phase : question.phases) {
      ModelRow& row = rows.emplace_back(ModelRow{.hardware = hardware.id,
                                                 .dtype = cell.dtype,
                                                 .asked_kernel = cell.kernel,
                                                 .phase = phase,
                                                 .mix = &mix,
                                                 .gpus = question.gpus});
      row.price = question.price, row.basis = basis.empty() ? "stated" : basis;
      row.tokens = tokens_of(question, phase, mix);
      row.past_maximum = question.network.context > 0 && mix.longest() > question.network.context;
      add_memory(question, hardware, row);
      row.reason = too_large(row, question.network);
      try {
        if (row.reason.empty()) add_time(question, times, row);
      } catch (const InputError& error) {
        row.groups.clear();
        row.reason = error.diagnostics().front().message;
      } catch (const CountOverflow& error) {
        row.groups.clear();
        row.reason = error.what();
      }
    }
  return rows;
}

}  // namespace

std::vector<ModelRow> model_rows(const ModelQuestion& question,
                                 const std::function<void(std::size_t done, std::size_t all)>& progress) {
  ProfileCatalogue catalogue(data_directory() / "hardware");
  std::vector<HardwareProfile> gpus;
  for (const std::string& id : question.hardware) gpus.push_back(catalogue.find(id, RatesFrom::stated));
  const std::string basis = question.basis.empty() && gpus.size() > 1 ? to_string(common_rates(gpus)) : question.basis;
  if (contains(question.kernels, "auto")) kernels_of_diagram("attention");  // read before all threads ask for them
  const std::vector<Cell> cells = cells_of(question);
  const std::size_t all = cells.size() * question.contexts.size() * question.phases.size();
  std::vector<std::vector<ModelRow>> found(cells.size());
  std::vector<ModelRow> rows;
  in_order(
      cells.size(), question.threads,
      [&](std::size_t i, std::size_t) { found[i] = rows_of(question, cells[i], gpus[cells[i].gpu], basis); },
      [&](std::size_t i, std::size_t) {
        std::move(found[i].begin(), found[i].end(), std::back_inserter(rows));
        if (progress) progress(rows.size(), all);
      });
  return rows;
}

}  // namespace tilescope
