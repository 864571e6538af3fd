// Inside this folder: the parts of a record's JSON that its two forms share.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "records/json_fields.h"
#include "records/record.h"

namespace tilescope::validate {

inline constexpr std::size_t largest_record = std::size_t{8} << 20;  // bytes

using Sections = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

// The environment of a name, for records that refer to it; reports an unknown name itself.
using FindEnvironment = std::function<Environment(const std::string&)>;

// Every key of an environment but `date`, which each record has of its own.
Environment read_environment(const JsonFields& root);
nlohmann::ordered_json environment_json(const Environment& environment);

// A record of `version` 1 or 2; findings go where `root` reports them.
Record read_record_fields(const JsonFields& root, int version, const FindEnvironment& find_environment);

// The text under `schema`. Throws InputError when there is none.
std::string schema_of(const nlohmann::json& json, const std::string& file);

std::map<std::string, double> sum_over(const std::vector<MeasuredLaunch>& islands,
                                       std::map<std::string, double> MeasuredLaunch::*member);

// Keys and values between `environment` and `islands`, in the order in which they are written. Without `sums` the
// counters are left out that are the sum over the islands.
Sections middle_sections(const Record& record, bool sums);
nlohmann::ordered_json island_json(const MeasuredLaunch& island, bool imported);

}  // namespace tilescope::validate
