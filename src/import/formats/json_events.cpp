#include "import/formats/json_events.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace tilescope::imported {
namespace {

using Json = nlohmann::json;
using Use = std::function<void(const std::string&, const Json&)>;

constexpr std::size_t most_depth = 32, most_values = 1'000'000;

// Builds one element after the other. A method that returns false ends the parsing; `problem` says why.
class EventBuilder : public nlohmann::json_sax<Json> {
 public:
  EventBuilder(std::string streamed, const Use& use) : streamed_(std::move(streamed)), use_(&use) {}

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return stop("has binary data"); }
  bool key(string_t& name) override {
    (open_.empty() ? root_key_ : keys_.back()) = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return start(Json::object()); }
  bool start_array(std::size_t) override { return start(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) override {
    return stop(fmt::format("is not complete JSON: unexpected {} at byte {}; it is cut short, damaged or not in UTF-8",
                            shown_text(token), position));
  }

  std::string problem;

 private:
  bool stop(const std::string& message) {
    if (problem.empty()) problem = message;
    return false;
  }

  // Whether values here are elements: below a key of the root, or in the streamed array.
  bool start(Json value) {
    if (++depth_ > most_depth) return stop("is nested deeper than 32");
    if (open_.empty() && depth_ == 1) {
      root_is_array_ = value.is_array();
      if (root_is_array_) root_key_ = streamed_;
      return true;
    }
    if (open_.empty() && depth_ == 2 && !root_is_array_ && value.is_array() && root_key_ == streamed_) {
      return true;
    }
    if (open_.empty()) {
      element_ = std::move(value);
      open_.push_back(&element_);
      keys_.emplace_back();
      return true;
    }
    Json* placed = place(std::move(value));
    if (!placed) return false;
    open_.push_back(placed);
    keys_.emplace_back();
    return true;
  }

  bool end() {
    --depth_;
    if (open_.empty()) {
      return true;
    }
    open_.pop_back();
    keys_.pop_back();
    return open_.empty() ? finish() : true;
  }

  bool add(Json value) {
    if (depth_ == 0) return stop("expected JSON with events, found a single value");
    if (!open_.empty()) return place(std::move(value)) != nullptr;
    element_ = std::move(value);
    return finish();
  }

  Json* place(Json value) {
    if (++values_ > most_values) {
      stop("has an event of more than a million values");
      return nullptr;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[keys_.back()] = std::move(value));
  }

  bool finish() {
    (*use_)(root_key_, element_);
    element_ = nullptr;
    values_ = 0;
    return true;
  }

  std::string streamed_;
  const Use* use_;
  std::size_t depth_ = 0, values_ = 0;
  bool root_is_array_ = false;
  std::string root_key_;
  Json element_;
  std::vector<Json*> open_;
  std::vector<std::string> keys_;  // the last key of each open object
};

}  // namespace

void read_json_events(std::streambuf& input, const std::string& file, const std::string& streamed, const Use& use) {
  EventBuilder builder(streamed, use);
  std::istream stream(&input);
  stream.exceptions(std::ios::badbit);  // an InputError of the stream's buffer goes on to the caller
  const bool whole = Json::sax_parse(stream, &builder);
  if (!whole || !builder.problem.empty())
    throw InputError(Diagnostic{.file = file, .message = builder.problem.empty() ? "is not JSON" : builder.problem});
}

}  // namespace tilescope::imported
