#include "predict/explain/error_bar.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace tilescope {

using nlohmann::ordered_json;

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
    throw InputError(Diagnostic{
        .file = file.string(),
        .message = std::string("is not an error summary; write it with tilescope validate --errors: ") + error.what()});
  }
  return own && own->n >= enough ? own : all;
}

}  // namespace tilescope
