#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kernel/describe/launch/launch_evidence.h"

namespace tilescope {
namespace {

constexpr const char* evidence_schema = "tilescope/launch-evidence/1";

}  // namespace

std::string evidence_json(const LaunchEvidence& e) {
  nlohmann::ordered_json line{
      {"schema", evidence_schema}, {"grid", e.grid}, {"words", e.words}, {"numbers", e.numbers}};
  line["maps"] = nlohmann::ordered_json::array();
  for (const TensorMapShape& map : e.maps)
    line["maps"].push_back({{"offset", map.offset},
                            {"element_bytes", map.element_bytes},
                            {"dims", map.dims},
                            {"strides", map.strides},
                            {"box", map.box}});
  line["blocks"] = nlohmann::ordered_json::array();
  for (const BlockVisit& visit : e.blocks) {
    // A block: its indices and its tile, then array, stored, first, last and step of each visit.
    nlohmann::ordered_json block{visit.block[0], visit.block[1], visit.block[2], visit.tile};
    for (const ArrayVisit& array : visit.arrays)
      for (const std::int64_t number : {array.array, std::int64_t{array.stored}, array.first, array.last, array.step})
        block.push_back(number);
    line["blocks"].push_back(std::move(block));
  }
  line["guesses"] = e.guesses, line["stopped"] = e.stopped;
  if (e.claims) line["claims"] = true;
  return line.dump();
}

LaunchEvidence read_evidence(const std::string& json, const std::string& file) {
  try {
    const auto line = nlohmann::json::parse(json);
    if (line.at("schema") != evidence_schema) throw nlohmann::json::other_error::create(501, "schema", nullptr);
    LaunchEvidence e;
    line.at("grid").get_to(e.grid), line.at("words").get_to(e.words), line.at("numbers").get_to(e.numbers);
    for (const auto& map : line.at("maps"))
      e.maps.push_back({map.at("offset"), map.at("element_bytes"), map.at("dims"), map.at("strides"), map.at("box")});
    constexpr std::size_t head = 4, numbers = 5;
    for (const auto& block : line.at("blocks")) {
      const auto values = block.get<std::vector<std::int64_t>>();
      if (values.size() < head || (values.size() - head) % numbers != 0)
        throw nlohmann::json::other_error::create(502, "numbers of a block", nullptr);
      BlockVisit visit{.block = {values[0], values[1], values[2]}, .tile = values[3], .arrays = {}};
      for (std::size_t i = head; i < values.size(); i += numbers)
        visit.arrays.push_back({values[i], values[i + 1] != 0, values[i + 2], values[i + 3], values[i + 4]});
      e.blocks.push_back(std::move(visit));
    }
    e.guesses = line.at("guesses"), e.stopped = line.at("stopped"), e.claims = line.value("claims", false);
    return e;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(
        Diagnostic{.file = file, .message = std::string("is no line of launch evidence: ") + error.what()});
  }
}

}  // namespace tilescope
