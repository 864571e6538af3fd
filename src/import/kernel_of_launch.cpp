#include "import/kernel_of_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "request/answer.h"
#include "request/calls.h"
#include "request/choose_kernel.h"

namespace tilescope::imported {
namespace {

bool is_among(const std::string& part, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

struct NamedCalls {
  std::string software;
  Calls calls;
};

// Read once: a trace asks for every launch.
const std::vector<NamedCalls>& tables_of_calls() {
  static const std::vector<NamedCalls> tables = [] {
    std::vector<NamedCalls> all;
    for (const auto& [software, file] : shipped_calls(data_directory() / "kernels"))
      all.push_back({software, load_calls(file)});
    return all;
  }();
  return tables;
}

// "pytorch:flash", of the backend that launches one of the names; empty: none does.
std::string table_of(const std::vector<std::string>& names) {
  for (const NamedCalls& table : tables_of_calls())
    for (const CallRule& rule : table.calls.rules)
      if (is_among(rule.launches, names)) return table.software + ":" + rule.backend;
  return {};
}

std::int64_t tile_of(const Answer& answer, const char* name) {
  const int position = answer.plan.schedule.find_parameter(name);
  return position < 0 ? 0 : answer.point.tiles[static_cast<std::size_t>(position)];
}

// Formats as --dtype states them: one for all arrays, and those of single ones.
void take_dtypes(const Options& options, const Plan& plan, validate::MeasurePoint& point) {
  const auto text = options.text("dtype");
  if (!text && plan.kernel.formats.empty())
    refuse("--point", "has no dtype: give it as in dtype=bf16, because a file without shapes does not tell it");
  for (const std::string& part : split(text.value_or(""), ',')) {
    const std::size_t equals = part.find('=');
    const auto dtype = parse_dtype(equals == std::string::npos ? part : part.substr(equals + 1));
    if (!dtype) continue;  // reading the point has refused it
    if (equals != std::string::npos) point.dtypes[part.substr(0, equals)] = *dtype;
    else if (dtype->scale_group == 0) point.dtype = dtype->format;
    else refuse("--point", fmt::format("expected a format without scales for all arrays, found {}", shown_text(part)));
  }
  if (text || plan.kernel.formats.empty()) return;
  for (const auto& [key, dtype] : plan.kernel.formats.front()) point.dtypes[key] = dtype;
}

// 0 where the kernel is built for one number of stages.
std::int64_t built_stages(const Answer& answer) {
  const auto& variants = answer.plan.kernel.variants;
  const auto differs = [&](const KernelVariant& variant) {
    return variant.stages != answer.point.stages && serves(answer.plan, answer.point, variant);
  };
  return std::any_of(variants.begin(), variants.end(), differs) ? answer.point.stages : 0;
}

validate::MeasurePoint measured_point(const Options& options, const std::string& kernel, const Answer& answer) {
  validate::MeasurePoint point;
  const Workload& w = answer.point.workload;
  point.kernel = kernel, point.mask = answer.point.mask.text;
  point.workload = {w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v};
  take_dtypes(options, answer.plan, point);
  point.tile_q = tile_of(answer, "q"), point.tile_kv = tile_of(answer, "kv");
  point.warps = answer.point.warps, point.stages = built_stages(answer);
  const std::int64_t splits = tile_of(answer, "splits");
  point.splits = splits > 1 ? splits : 0;
  return point;
}

KernelAnswer answer_with(const Options& options, const std::string& kernel, std::string main) {
  const Answer answer = answer_of_plan(options.with("kernel", kernel));
  KernelAnswer found{.point = {}, .main = std::move(main), .reason = {}};
  found.launches = answer.plan.kernel.islands.size();
  if (!answer.outside.empty()) found.reason = answer.outside.front();
  else found.point = measured_point(options, kernel, answer);
  return found;
}

}  // namespace

bool is_known_launch(const std::string& name) { return !table_of({name}).empty(); }

KernelAnswer kernel_of_launch(const Options& options, const std::string& asked, const std::string& expected,
                              const std::vector<std::string>& names) {
  const std::string kernel = asked.empty() ? table_of(names) : asked;
  const auto refused = [](const std::string& reason) {
    return KernelAnswer{.point = {}, .main = {}, .reason = reason};
  };
  if (kernel.empty()) return refused("no table of calls knows this kernel; --kernel names its descriptor");
  if (kernel == "auto") refuse("--kernel", "auto chooses by time; an imported launch has one kernel, name it");
  if (!asks_for_choice(kernel)) {
    if (!expected.empty() && !is_among(expected, names))
      return refused(fmt::format("{} was expected to launch {}", kernel, expected));
    return answer_with(options, kernel, expected);
  }
  const KernelChoice choice = choose_kernel(options.with("kernel", kernel));
  if (choice.kernel.empty() && is_among(choice.launches, names) && !choice.launches.empty())
    return refused("no descriptor describes " + choice.launches);
  if (choice.kernel.empty()) return refused(choice.reasons.empty() ? "no descriptor" : choice.reasons.front());
  if (!is_among(choice.launches, names))
    return refused(fmt::format("by the table of calls it launches {}, which is not what ran", choice.launches));
  return answer_with(options, choice.kernel, choice.launches);
}

}  // namespace tilescope::imported
