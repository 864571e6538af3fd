#include "tilescope/predict.h"

#include "predict/explain/prediction_json.h"
#include "request/answer.h"
#include "tilescope/convert.h"

namespace tilescope::api {

Prediction predict(const Options& options) {
  return answering([&] {
    const Answer a = answer(checked(options, point_options()));
    const Json json = a.json();
    Prediction out{
        .feasible = a.prediction.feasible, .seconds = 0, .bound_by = "", .traffic = {}, .json = json.dump(2)};
    for (const Json& level : json.value("traffic", Json::array()))
      out.traffic.push_back({level.at("level").get<std::string>(), level.at("read_bytes").get<std::int64_t>(),
                             level.at("write_bytes").get<std::int64_t>()});
    if (const Json time = json.value("time", Json::object()); time.contains("seconds") && time["seconds"].is_number()) {
      out.seconds = time["seconds"].get<double>();
      out.bound_by = time.value("bound_by", "");
    }
    return out;
  });
}

}  // namespace tilescope::api
