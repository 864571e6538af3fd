#include "wasm/call.h"

#include <map>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "request/answer.h"
#include "request/option_specs.h"
#include "request/searched.h"
#include "request/sweep.h"
#include "wasm/pictures.h"

namespace tilescope::wasm {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Json predict_call(const Given& given) { return answer(checked_options(given, point_options())).json(); }

Json search_call(const Given& given) {
  return search_of(checked_options(given, point_options() + search_top_options())).json();
}

Json point_call(const Given& given) { return point_picture(answer(checked_options(given, point_options()))); }

Json tiles_call(const Given& given) { return tile_picture(checked_options(given, point_options())); }

Json sweep_call(const Given& given) {
  const Sweep sweep = read_sweep(checked_options(given, point_options() + sweep_axis_options()));
  const std::vector<PredictionColumn> columns = columns_at(prediction_columns(sweep.tiles()), shown::csv);
  const JsonOptions no_errors;
  Json keys = Json::array(), rows = Json::array();
  for (const PredictionColumn& column : columns) keys.push_back(column.key);
  each_point(sweep, [&](const Sweep& of, const Point& point, const Prediction* prediction,
                        const std::vector<std::string>& unsupported) {
    Json row = Json::array();
    for (const PredictionColumn& column : columns)
      row.push_back(cell(column, {of.plan, of.hardware, point, prediction, no_errors,
                                  of.chosen_by.empty() ? "" : join(unsupported, "; ")}));
    rows.push_back(std::move(row));
  });
  return {{"columns", std::move(keys)}, {"rows", std::move(rows)}};
}

Json answer_of(const Json& request) {
  static const std::map<std::string, Json (*)(const Given&)> calls{{"predict", predict_call},
                                                                   {"search", search_call},
                                                                   {"point", point_call},
                                                                   {"tiles", tiles_call},
                                                                   {"sweep", sweep_call}};
  const auto found = calls.find(request.at("call").get<std::string>());
  if (found == calls.end()) refuse("call", "expected predict, search, point, tiles or sweep");
  return found->second(request.at("options").get<Given>());
}

std::string error_reply(const std::string& message) { return Json{{"error", message}}.dump(); }

}  // namespace

std::string call(const std::string& request) {
  try {
    return "{\"answer\": " + answer_of(Json::parse(request)).dump(2) + "}";
  } catch (const InputError& error) {
    return error_reply(error.what());
  } catch (const CountOverflow& error) {
    return error_reply(error.what());
  } catch (const Json::exception& error) {
    return error_reply(std::string("call: expected {\"call\": NAME, \"options\": [[NAME, VALUE], ...]}: ") +
                       error.what());
  }
}

}  // namespace tilescope::wasm
