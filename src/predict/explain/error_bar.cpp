#include "predict/explain/error_bar.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

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
  return prediction.time.bound_by == Resource::hbm || prediction.time.bound_by == Resource::l2 ? "memory" : "compute";
}

std::optional<TimeError> recorded_error(const std::filesystem::path& file, const std::string& hardware,
                                        const std::string& kernel, const std::string& quantity,
                                        const std::string& regime) {
  constexpr std::int64_t enough = 5;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  std::optional<TimeError> all, own;
  try {
    const ordered_json json = ordered_json::parse(read_file(file));
    for (const ordered_json& row : json.at("rows")) {
      if (row.at("hardware") != hardware || row.at("kernel") != kernel || row.at("quantity") != quantity) continue;
      const TimeError error{row.at("mape").get<double>(), row.at("p90").get<double>(), row.at("n").get<std::int64_t>(),
                            row.at("basis").get<std::string>()};
      if (!row.contains("regime") || row.at("regime").is_null()) all = error;
      else if (row.at("regime") == regime) own = error;
    }
  } catch (const ordered_json::exception& error) {
    refuse_summary(file, "tilescope validate --errors", error.what());
  }
  return own && own->n >= enough ? own : all;
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
    const ordered_json json = ordered_json::parse(read_file(file));
    for (const ordered_json& row : json.at("rows")) {
      const TimeError error{row.at("mape").get<double>(), row.at("p90").get<double>(), row.at("n").get<std::int64_t>(),
                            row.at("evidence").get<std::string>()};
      if (row.at("hardware") == hardware && row.at("basis") == basis) own = error;
      if (row.at("chip") == chip && row.at("basis") == basis) keep_larger(same_chip, error);
      if (row.at("rates_of") == "another chip" && row.at("basis") == basis) keep_larger(other_chip, error);
    }
  } catch (const ordered_json::exception& error) {
    refuse_summary(file, "validate/tools/basis_errors.py", error.what());
  }
  return own ? own : same_chip ? same_chip : other_chip;
}

}  // namespace tilescope
