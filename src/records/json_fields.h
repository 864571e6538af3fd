// Reading JSON whose every value is checked; findings are collected, placeholders returned.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope::validate {

// A JSON object at `path` in `file`. Every getter that finds something wrong adds to `findings`.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& value, std::string file, std::string path, std::vector<Diagnostic>& findings);

  bool has(const std::string& key) const;
  bool holds_text(const std::string& key) const;
  std::vector<std::string> keys() const;
  JsonFields object(const std::string& key) const;
  std::vector<JsonFields> objects(const std::string& key) const;  // an array of objects
  std::string text(const std::string& key) const;                 // not empty
  double number(const std::string& key) const;                    // finite, not negative
  std::int64_t integer(const std::string& key, std::int64_t least) const;
  bool boolean(const std::string& key) const;
  std::vector<double> numbers(const std::string& key) const;  // finite, not negative
  std::vector<std::int64_t> integers(const std::string& key, std::int64_t least) const;
  std::vector<std::string> texts(const std::string& key) const;
  std::map<std::string, double> number_map(const std::string& key) const;  // name -> finite, not negative
  std::map<std::string, std::vector<double>> numbers_map(const std::string& key) const;

  void report(const std::string& key, const std::string& message) const;
  // Of an object whose every key decides something: another one is a slip.
  void refuse_other_keys(const std::vector<std::string>& known) const;

 private:
  const nlohmann::json* find(const std::string& key) const;  // nullptr after reporting that it is missing
  template <class Key>
  bool is_amount(const Key& key, const nlohmann::json& value) const;
  bool is_count(const std::string& key, const nlohmann::json& value, std::int64_t least) const;

  const nlohmann::json* value_;
  std::string file_, path_;
  std::vector<Diagnostic>* findings_;
};

// The JSON object that `text` is. Throws InputError with one finding in `file`: nested too deep, cut short, a key given
// twice in one object, or not an object. `what` names the expected document: "a record".
nlohmann::json parse_object(std::string_view text, const std::string& file, const std::string& what);

// The line that `stream.getline` has put into `buffer`, with zero bytes that it may have.
std::string_view line_of(const std::istream& stream, const char* buffer);

}  // namespace tilescope::validate
