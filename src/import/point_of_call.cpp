#include "import/point_of_call.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace tilescope::imported {
namespace {

struct Shape {
  std::int64_t batch = 0, heads = 0, length = 0, dim = 0;
};

std::string value_at(const ToolOperator& call, std::size_t position) {
  return position < call.values.size() ? call.values[position] : "";
}

bool is_zero(const std::string& value) {
  if (value.empty() || value == "False" || value == "None") return true;
  const auto number = parse_decimal(value.ends_with('.') ? value + "0" : value);
  return number && *number == 0;
}

bool is_open(const std::string& value) { return value.empty() || value == "None" || value == "-1"; }

// "c10::BFloat16" -> "bf16"; empty: a format that no operator here takes.
std::string format_of(const std::string& type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> names{
      {{"c10::Half", "fp16"},
       {"c10::BFloat16", "bf16"},
       {"float", "fp32"},
       {"c10::Float8_e4m3fn", "fp8_e4m3"},
       {"c10::Float8_e5m2", "fp8_e5m2"}}};
  for (const auto& [torch, own] : names)
    if (type == torch) return std::string(own);
  return {};
}

class CallReader {
 public:
  CallReader(const ToolOperator& call, const AttentionOperator& kind, const Options& given)
      : call_(&call), kind_(&kind), given_(&given) {}

  CallPoint read() {
    if (call_->dims.empty()) return fail("has no shapes; profile with record_shapes=True, or give --point");
    const Shape q = shape("query", kind_->query), k = shape("key", kind_->key), v = shape("value", kind_->value);
    if (problem_.empty() &&
        (k.batch != q.batch || v.batch != q.batch || v.heads != k.heads || v.length != k.length || k.dim != q.dim))
      problem_ = "query, key and value do not fit each other";
    refuse_others();
    const bool typed = !type_at(kind_->query).empty();
    const std::string format = typed ? format_of(type_at(kind_->query)) : given_->text("dtype").value_or("");
    if (problem_.empty() && format.empty() && !typed) problem_ = "has no formats; give --point dtype=bf16";
    if (problem_.empty() && (format.empty() || type_at(kind_->key) != type_at(kind_->query) ||
                             type_at(kind_->value) != type_at(kind_->query)))
      problem_ = "its formats are unknown: " + shown_text(type_at(kind_->query));
    const std::string mask = mask_of_call();
    if (!problem_.empty()) return fail(problem_);
    std::map<std::string, std::vector<std::string>> options{{"batch", {std::to_string(q.batch)}},
                                                            {"heads-q", {std::to_string(q.heads)}},
                                                            {"heads-kv", {std::to_string(k.heads)}},
                                                            {"q-len", {std::to_string(q.length)}},
                                                            {"kv-len", {std::to_string(k.length)}},
                                                            {"head-dim", {std::to_string(q.dim)}},
                                                            {"v-head-dim", {std::to_string(v.dim)}},
                                                            {"mask", {mask}},
                                                            {"dtype", {format}},
                                                            {"pass", {to_string(kind_->pass)}}};
    return {Options(std::move(options)), {}};
  }

 private:
  static CallPoint fail(const std::string& problem) { return {Options(), problem}; }

  std::string type_at(std::size_t position) const {
    return position < call_->types.size() ? call_->types[position] : "";
  }

  Shape shape(const char* name, std::size_t position) {
    if (position >= call_->dims.size() || call_->dims[position].size() != 4) {
      if (problem_.empty()) problem_ = fmt::format("its {} is no tensor of four axes", name);
      return {};
    }
    const auto& d = call_->dims[position];
    return kind_->layout == TensorLayout::heads_first ? Shape{d[0], d[1], d[2], d[3]} : Shape{d[0], d[2], d[1], d[3]};
  }

  // Arguments that make another computation of it.
  void refuse_others() {
    const auto refuse_where = [&](const std::vector<std::size_t>& positions, auto&& good, const char* why) {
      for (const std::size_t position : positions)
        if (problem_.empty() && !good(position)) problem_ = fmt::format("{} (argument {})", why, position);
    };
    refuse_where(
        kind_->absent,
        [&](std::size_t i) { return i >= call_->dims.size() || (call_->dims[i].empty() && type_at(i).empty()); },
        "has a bias or lengths of its own, which no descriptor describes");
    refuse_where(
        kind_->zero, [&](std::size_t i) { return is_zero(value_at(*call_, i)); },
        "has dropout or another option that no descriptor describes");
    refuse_where(
        kind_->open, [&](std::size_t i) { return is_open(value_at(*call_, i)); },
        "has a window, which its descriptor does not describe");
  }

  std::string mask_of_call() {
    if (!kind_->causal) return "none";
    const std::string value = value_at(*call_, *kind_->causal);
    if (value == "True" || value == "1") return "causal";
    if (value == "False" || value == "0") return "none";
    if (const auto mask = given_->text("mask"); value.empty() && mask) return *mask;
    if (problem_.empty())
      problem_ = value.empty() ? "does not tell whether it is causal; give --point mask=causal or mask=none"
                               : "has a mask of a kind that is unknown: " + shown_text(value);
    return {};
  }

  const ToolOperator* call_;
  const AttentionOperator* kind_;
  const Options* given_;
  std::string problem_;
};

}  // namespace

CallPoint point_of_call(const ToolOperator& call, const AttentionOperator& kind, const Options& given) {
  return CallReader(call, kind, given).read();
}

std::string key_of(const ToolOperator& call) {
  std::string key = call.name;
  for (const auto& dims : call.dims) {
    key += "[";
    for (const std::int64_t size : dims) key += std::to_string(size) + ",";
  }
  return key + "|" + join(call.types, ",") + "|" + join(call.values, ",") + "\n";
}

}  // namespace tilescope::imported
