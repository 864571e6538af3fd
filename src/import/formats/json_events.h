// A JSON document of events, one event in memory at a time.
#pragma once

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace tilescope::imported {

// Gives `use` every element of the array `streamed` of the root object (or of the root, if it is an array), with the
// name of the array, and the value of every other key of the root with its key. Throws InputError in `file` for text
// that is no JSON, is cut short, is nested deeper than 32 or has an element of more than a million values.
void read_json_events(std::streambuf& input, const std::string& file, const std::string& streamed,
                      const std::function<void(const std::string& key, const nlohmann::json& value)>& use);

}  // namespace tilescope::imported
