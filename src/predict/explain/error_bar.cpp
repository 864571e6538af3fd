#include "predict/explain/error_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace tilescope {

using nlohmann::ordered_json;

namespace {

[[noreturn]] void refuse_summary(const std::filesystem::path& file, const char* command, const char* why) {
  throw InputError(Diagnostic{
      .file = file.string(), .message = std::string("is not an error summary; write it with ") + command + ": " + why});
}

}  // namespace

std::string regime_of(const Prediction& prediction) {
  if (prediction.time.spills) return "spills";
  if (prediction.time.total < 20e-6) return "short";
  return of_whole_device(prediction.time.bound_by) ? "memory" : "compute";
}

ErrorSizes error_sizes(const Workload& w) {
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  return {{"q_len", real(w.q_len)},
          {"kv_len", real(w.kv_len)},
          {"heads", real(w.batch) * real(w.heads_q)},
          {"head_dim", real(w.d_qk)}};
}

double bar_of(std::vector<double> errors) {
  if (errors.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(errors.size() + 1)));
  const auto bar = errors.begin() + static_cast<std::ptrdiff_t>(std::min(rank, errors.size()) - 1);
  std::nth_element(errors.begin(), bar, errors.end());
  return *bar;
}

namespace {

// What nlohmann's own errors do not find: values that no summary holds.
class BadSummary : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw BadSummary(what);
}

// A part of something measured, such as an error.
double amount(const ordered_json& row, const char* key) {
  const double value = row.at(key).get<double>();
  require(std::isfinite(value) && value >= 0 && value <= 1e6,
          fmt::format("{} must be from 0 to 1e6, found {}", key, value));
  return value;
}

std::int64_t how_many(const ordered_json& row, std::int64_t least) {
  require(row.at("n").is_number_integer() && row.at("n").get<std::int64_t>() >= least,
          fmt::format("n must be an integer of at least {}, found {}", least, row.at("n").dump()));
  return row.at("n").get<std::int64_t>();
}

// Of a summary as `tilescope validate --errors` lays it out, the text without rows of other kernels. A tenth is left.
std::string with_rows_of(const std::string& kernel, const std::string& text) {
  constexpr std::string_view row = "\n  {\n", row_end = "\n  }";
  const std::string own = fmt::format("\n   \"kernel\": {},\n", ordered_json(kernel).dump()),
                    of_all = "\n   \"kernel\": null,\n";
  const std::size_t rows = text.find("\n \"rows\": ["), rows_end = text.find("\n ]", rows);
  if (kernel.empty() || rows == text.npos || rows_end == text.npos) return text;
  std::string kept = text.substr(0, text.find('[', rows) + 1);
  const std::string_view all = std::string_view(text).substr(0, rows_end);
  for (std::size_t at = kept.size(); at != rows_end;) {
    const std::size_t end = all.find(row_end, at);
    if (!all.substr(at).starts_with(row) || end == all.npos) return text;  // laid out otherwise
    const std::string_view one = all.substr(at, end + row_end.size() - at);
    if (one.find(own) != one.npos || one.find(of_all) != one.npos) {
      if (kept.back() != '[') kept += ',';
      kept += one;
    }
    at = end + row_end.size();
    if (at != rows_end && text[at++] != ',') return text;
  }
  return kept + text.substr(rows_end);
}

ordered_json read_summary(const std::filesystem::path& file, const char* schema, const std::string& kernel = {}) {
  ordered_json json = ordered_json::parse(with_rows_of(kernel, read_file(file)));
  require(json.at("schema") == schema,
          fmt::format("expected schema {}, found {}", schema, shown_text(json.at("schema").dump())));
  return json;
}

std::string text_or_empty(const ordered_json& value) { return value.is_null() ? "" : value.get<std::string>(); }

ErrorRow read_row(const ordered_json& json) {
  ErrorRow row{.hardware = json.at("hardware").get<std::string>(),
               .kernel = text_or_empty(json.at("kernel")),
               .quantity = json.at("quantity").get<std::string>(),
               .regime = text_or_empty(json.at("regime")),
               .published = json.at("source") == "published",
               .mape = amount(json, "mape"),
               .p90 = amount(json, "p90"),
               .n = how_many(json, 1),
               .held = std::nullopt,
               .basis = json.at("basis").get<std::string>()};
  for (const auto& [size, range] : json.at("sizes").items()) {
    const auto [least, most] = row.sizes[size] = {range.at(0).get<double>(), range.at(1).get<double>()};
    require(least > 0 && least <= most && std::isfinite(most),
            fmt::format("sizes.{} must be two positive sizes, the smaller first, found {}", shown_text(size),
                        range.dump()));
  }
  return row;
}

}  // namespace

ErrorBars ErrorBars::load(const std::filesystem::path& file, const std::string& kernel) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  try {
    const ordered_json json = read_summary(file, "tilescope/errors/1", kernel);
    ErrorBars bars;
    for (const ordered_json& row : json.at("rows")) bars.rows_.push_back(read_row(row));
    for (const ordered_json& one : json.at("widening"))
      bars.widening_.push_back({one.at("quantity").get<std::string>(), one.at("cause").get<std::string>(),
                                amount(one, "factor"), how_many(one, 0)});
    return bars;
  } catch (const ordered_json::exception& error) {
    refuse_summary(file, "tilescope validate --errors", error.what());
  } catch (const BadSummary& problem) {
    refuse_summary(file, "tilescope validate --errors", problem.what());
  }
}

// A group that may answer, and what its use is borrowed across.
struct ErrorBars::Source {
  const ErrorRow* row = nullptr;
  std::vector<const char*> causes = {};
  std::string from = {};
};

const ErrorRow* ErrorBars::row(const std::string& hardware, const std::string& kernel, const ErrorQuery& query,
                               const std::string& regime, bool published) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const ErrorRow& each) {
    return each.hardware == hardware && each.kernel == kernel && each.quantity == query.quantity &&
           each.regime == regime && each.published == published;
  });
  return found == rows_.end() ? nullptr : &*found;
}

std::vector<std::string> ErrorBars::other_gpus(const std::string& hardware) const {
  std::vector<std::string> gpus;
  for (const ErrorRow& each : rows_)
    if (each.hardware != hardware && !contains(gpus, each.hardware)) gpus.push_back(each.hardware);
  return gpus;
}

// Nearest first.
std::vector<ErrorBars::Source> ErrorBars::sources(const ErrorQuery& q) const {
  const std::vector<std::string> others = other_gpus(q.hardware);
  std::vector<Source> list;
  if (!q.kernel.empty())
    list = {{row(q.hardware, q.kernel, q, q.regime, false)},
            {row(q.hardware, q.kernel, q, "", false),
             {"regime"},
             fmt::format("all regimes of {} on {}", q.kernel, q.hardware)},
            {row(q.hardware, q.kernel, q, "", true)}};
  for (const std::string& gpu : others) {
    if (q.kernel.empty()) break;
    const std::string from = fmt::format("{} on {}", q.kernel, gpu);
    list.push_back({row(gpu, q.kernel, q, q.regime, false), {"gpu"}, from});
    list.push_back({row(gpu, q.kernel, q, "", false), {"gpu", "regime"}, "all regimes of " + from});
    list.push_back({row(gpu, q.kernel, q, "", true), {"gpu"}, "published times of " + from});
  }
  list.push_back({row(q.hardware, "", q, q.regime, false), {"kernel"}, "all kernels on " + q.hardware});
  list.push_back({row(q.hardware, "", q, "", false), {"kernel", "regime"}, "all kernels on " + q.hardware});
  for (const std::string& gpu : others) {
    list.push_back({row(gpu, "", q, q.regime, false), {"kernel", "gpu"}, "all kernels on " + gpu});
    list.push_back({row(gpu, "", q, "", false), {"kernel", "gpu", "regime"}, "all kernels on " + gpu});
  }
  return list;
}

double ErrorBars::factor(const ErrorQuery& query, const char* cause, double otherwise) const {
  for (const ErrorWidening& each : widening_)
    if (each.quantity == query.quantity && each.cause == cause) return each.factor;
  return otherwise;
}

double ErrorBars::beyond(const ErrorQuery& query, const ErrorRow& row) const {
  double added = 0;
  for (const auto& [name, size] : query.sizes) {
    const auto range = row.sizes.find(name);
    if (range == row.sizes.end()) continue;
    const auto [least, most] = range->second;
    if (size < least) added += factor(query, "smaller", 0) * std::max(1.0, std::log2(least / size));
    if (size > most) added += factor(query, "larger", 0) * std::max(1.0, std::log2(size / most));
  }
  return 1 + added;
}

std::optional<TimeError> ErrorBars::find(const ErrorQuery& query) const {
  const std::vector<Source> list = sources(query);
  const auto nearest = std::find_if(list.begin(), list.end(),
                                    [](const Source& each) { return each.row && each.row->n >= enough_errors; });
  const ErrorRow* few = query.kernel.empty() ? nullptr : row(query.hardware, query.kernel, query, "", false);
  if (nearest == list.end()) {
    if (!few) return std::nullopt;
    return TimeError{.mape = few->mape, .p90 = few->p90, .n = few->n, .basis = few->basis};
  }
  double widened = beyond(query, *nearest->row);
  for (const char* cause : nearest->causes) widened *= factor(query, cause, 1);
  TimeError error{.mape = widened * nearest->row->mape,
                  .p90 = widened * nearest->row->p90,
                  .n = nearest->row->n,
                  .basis = nearest->row->basis,
                  .borrowed_from = nearest->from,
                  .widened = widened};
  if (few && !nearest->from.empty()) error.p90 = std::max(error.p90, few->p90);  // the few that there are stay within
  return error;
}

std::optional<TimeError> basis_error(const std::filesystem::path& file, const std::string& hardware,
                                     const std::string& chip, const std::string& basis) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  std::optional<TimeError> own, same_chip, other_chip;
  const auto keep_larger = [](std::optional<TimeError>& kept, const TimeError& error) {
    if (!kept || error.mape > kept->mape) kept = error;
  };
  try {
    const ordered_json json = read_summary(file, "tilescope/basis-errors/1");
    for (const ordered_json& row : json.at("rows")) {
      const TimeError error{amount(row, "mape"), amount(row, "p90"), how_many(row, 1),
                            row.at("evidence").get<std::string>()};
      if (row.at("hardware") == hardware && row.at("basis") == basis) own = error;
      if (row.at("chip") == chip && row.at("basis") == basis) keep_larger(same_chip, error);
      if (row.at("rates_of") == "another chip" && row.at("basis") == basis) keep_larger(other_chip, error);
    }
  } catch (const ordered_json::exception& error) {
    refuse_summary(file, "validate/tools/basis_errors.py", error.what());
  } catch (const BadSummary& problem) {
    refuse_summary(file, "validate/tools/basis_errors.py", problem.what());
  }
  return own ? own : same_chip ? same_chip : other_chip;
}

}  // namespace tilescope
