#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "records/capture/capture_lines.h"

namespace tilescope::capture {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_times_a_line = 10'000;

Json line(const char* kind) { return {{"schema", capture_schema}, {"line", kind}}; }

Json process_line(const CapturedProcess& process) {
  Json json = line("process");
  json["pid"] = process.pid;
  json["parent"] = process.parent;
  json["started"] = process.started;
  json["command"] = process.command;
  json["driver"] = process.driver;
  json["cupti"] = process.cupti;
  json["devices"] = Json::array();
  for (const CapturedDevice& d : process.devices)
    json["devices"].push_back({{"ordinal", d.ordinal},
                               {"name", d.name},
                               {"compute_capability", d.compute_capability},
                               {"multiprocessors", d.multiprocessors},
                               {"l2_bytes", d.l2_bytes},
                               {"memory_bytes", d.memory_bytes}});
  json["notes"] = process.notes;
  return json;
}

Json kernel_line(const CapturedKernel& kernel) {
  Json json = line("kernel");
  json["process"] = kernel.process;
  json["symbol"] = kernel.symbol;
  if (!kernel.module.empty()) json["module"] = kernel.module;
  json["registers"] = kernel.registers;
  json["static_shared_bytes"] = kernel.static_shared_bytes;
  json["local_bytes"] = kernel.local_bytes;
  json["most_threads"] = kernel.most_threads;
  json["parameters"] = Json::array();
  for (const ParameterPlace& place : kernel.parameters)
    json["parameters"].push_back({{"offset", place.offset}, {"bytes", place.bytes}});
  return json;
}

Json tensor_map_line(const CapturedTensorMap& map) {
  Json json = line("tensor_map");
  json["process"] = map.process;
  json["type"] = map.type;
  json["dims"] = map.dims;
  json["strides"] = map.strides;
  json["box"] = map.box;
  json["element_strides"] = map.element_strides;
  json["interleave"] = map.interleave;
  json["swizzle"] = map.swizzle;
  json["l2_promotion"] = map.l2_promotion;
  json["fill"] = map.fill;
  return json;
}

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Json launch_line(const CapturedLaunch& launch) {
  Json json = line("launch");
  json["kernel"] = launch.kernel;
  json["grid"] = launch.grid;
  json["block"] = launch.block;
  json["cluster"] = launch.cluster;
  json["dynamic_shared_bytes"] = launch.dynamic_shared_bytes;
  if (launch.device) json["device"] = *launch.device;
  if (launch.stream) json["stream"] = *launch.stream;
  if (launch.graph_node != 0) json["graph_node"] = launch.graph_node;
  json["ranges"] = launch.ranges;
  if (!launch.parameters.empty()) {
    json["parameters"] = hexadecimal(launch.parameters);
    json["addresses"] = launch.addresses;
  }
  if (!launch.tensor_maps.empty()) json["tensor_maps"] = Json::array();
  for (const MapPlace& place : launch.tensor_maps)
    json["tensor_maps"].push_back({{"offset", place.offset}, {"tensor_map", place.map}});
  json["count"] = launch.count;
  json["starts_ns"] = launch.starts_ns;
  json["durations_ns"] = launch.durations_ns;
  if (!launch.counted.empty()) json["counted"] = Json::array();
  for (const CountedLaunch& counted : launch.counted)
    json["counted"].push_back(
        {{"group", counted.group}, {"read_through_bytes", counted.read_through_bytes}, {"values", counted.values}});
  return json;
}

// A reader holds a line at a time: long lists of times are split over lines that are equal otherwise.
void add_launch(const CapturedLaunch& launch, std::string& text) {
  if (launch.starts_ns.size() <= most_times_a_line) {
    text += launch_line(launch).dump() + "\n";
    return;
  }
  CapturedLaunch part = launch;
  std::int64_t rest = launch.count;
  for (std::size_t at = 0; at < launch.starts_ns.size(); at += most_times_a_line) {
    const std::size_t end = std::min(at + most_times_a_line, launch.starts_ns.size());
    const auto piece = [&](const std::vector<std::int64_t>& all) {
      return std::vector<std::int64_t>(all.begin() + static_cast<std::ptrdiff_t>(at),
                                       all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    part.starts_ns = piece(launch.starts_ns);
    part.durations_ns = piece(launch.durations_ns);
    part.count = end == launch.starts_ns.size() ? rest : static_cast<std::int64_t>(end - at);
    rest -= part.count;
    text += launch_line(part).dump() + "\n";
    part.counted.clear();
  }
}

}  // namespace

std::string capture_lines(const Capture& capture) {
  std::string text;
  for (const CapturedProcess& process : capture.processes) text += process_line(process).dump() + "\n";
  for (const CapturedModule& module : capture.modules) {
    Json json = line("module");
    json["hash"] = module.hash;
    json["bytes"] = module.bytes;
    text += json.dump() + "\n";
  }
  for (const CapturedKernel& kernel : capture.kernels) text += kernel_line(kernel).dump() + "\n";
  for (const CapturedTensorMap& map : capture.tensor_maps) text += tensor_map_line(map).dump() + "\n";
  for (const CapturedLaunch& launch : capture.launches) add_launch(launch, text);
  return text;
}

}  // namespace tilescope::capture
