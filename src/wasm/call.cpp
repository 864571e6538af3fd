#include "wasm/call.h"

#include <map>
#include <new>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "request/answer.h"
#include "request/option_specs.h"
#include "request/searched.h"
#include "wasm/pictures.h"

namespace tilescope::wasm {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Json predict_call(const Given& given) { return answer(checked_options(given, point_options())).json(); }

Json search_call(const Given& given) {
  return search_of(checked_options(given, point_options() + search_top_options())).json();
}

Json point_call(const Given& given) { return point_picture(answer(checked_options(given, point_options()))); }

Json answer_of(const Json& request) {
  static const std::map<std::string, Json (*)(const Given&)> calls{
      {"predict", predict_call}, {"search", search_call}, {"point", point_call}};
  const auto found = calls.find(request.at("call").get<std::string>());
  if (found == calls.end()) refuse("call", "expected predict, search or point");
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
    return error_reply(std::string("error: ") + error.what());
  } catch (const Json::exception& error) {
    return error_reply(std::string("call: expected {\"call\": NAME, \"options\": [[NAME, VALUE], ...]}: ") +
                       error.what());
  } catch (const std::bad_alloc&) {
    return error_reply("error: out of memory; use fewer or smaller points");
  } catch (const std::exception& error) {
    return error_reply(std::string("error: internal: ") + error.what() + "; please report this");
  }
}

}  // namespace tilescope::wasm
