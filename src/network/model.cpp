#include "network/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "hardware/derived.h"
#include "network/calls.h"
#include "network/layer_time.h"
#include "network/memory.h"
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
std::string too_large(const ModelRow& row) {
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

}  // namespace

std::vector<ModelRow> model_rows(const ModelQuestion& question,
                                 const std::function<void(std::size_t done, std::size_t all)>& progress) {
  const std::size_t all = question.hardware.size() * question.dtypes.size() * question.kernels.size() *
                          question.contexts.size() * question.phases.size();
  ProfileCatalogue catalogue(data_directory() / "hardware");
  std::vector<ModelRow> rows;
  std::vector<HardwareProfile> gpus;
  for (const std::string& id : question.hardware) gpus.push_back(catalogue.find(id, RatesFrom::stated));
  const std::string basis = question.basis.empty() && gpus.size() > 1 ? to_string(common_rates(gpus)) : question.basis;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const HardwareProfile& hardware = gpus[g];
    for (const std::string& dtype : question.dtypes)
      for (const std::string& kernel : question.kernels) {
        LayerTimes times(question, question.hardware[g], basis, dtype, kernel);
        for (const ContextMix& mix : question.contexts)
          for (const Phase phase : question.phases) {
            ModelRow& row = rows.emplace_back(ModelRow{.hardware = hardware.id,
                                                       .dtype = dtype,
                                                       .asked_kernel = kernel,
                                                       .phase = phase,
                                                       .mix = &mix,
                                                       .gpus = question.gpus});
            row.price = question.price, row.basis = basis.empty() ? "stated" : basis;
            row.tokens = tokens_of(question, phase, mix);
            add_memory(question, hardware, row);
            row.reason = too_large(row);
            try {
              if (row.reason.empty()) add_time(question, times, row);
            } catch (const InputError& error) {
              row.groups.clear();
              row.reason = error.diagnostics().front().message;
            } catch (const CountOverflow& error) {
              row.groups.clear();
              row.reason = error.what();
            }
            if (progress) progress(rows.size(), all);
          }
      }
  }
  return rows;
}

}  // namespace tilescope
