#include "base/error.h"
#include "base/files.h"
#include "predict/json.h"

namespace tilescope {

std::optional<TimeError> recorded_time_error(const std::filesystem::path& file, const std::string& hardware, const std::string& kernel) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(file));
    for (const Json& row : json.at("rows"))
      if (row.at("hardware") == hardware && row.at("kernel") == kernel && row.at("quantity") == "seconds")
        return TimeError{row.at("mape").get<double>(), row.at("p90").get<double>(), row.at("n").get<std::int64_t>(), row.at("basis").get<std::string>()};
  } catch (const Json::exception& error) {
    throw InputError(Diagnostic{.file = file.string(), .message = std::string("is not an error summary; write it with tilescope validate --errors: ") + error.what()});
  }
  return std::nullopt;
}

}  // namespace tilescope
