#include "simulate/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tilescope {
namespace {

using Json = nlohmann::json;

constexpr int warps_process = 1, pipes_process = 2, copies_process = 3;

class Timeline {
 public:
  Timeline(const CodeSummary& code, const KernelSimulation& simulation, const SimulatedLoop& loop)
      : code_(code), simulation_(simulation), loop_(loop) {
    if (!loop.steady.events.empty()) start_ = loop.steady.events.front().ready;
  }

  Json events() {
    name("process_name", warps_process, 0, "warps");
    name("process_name", pipes_process, 0, "pipes");
    name("process_name", copies_process, 0, "copies");
    for (int warp = 0; warp < simulation_.resident * loop_.warps; ++warp)
      name("thread_name", warps_process, warp,
           fmt::format("block {} warp {} (scheduler {})", warp / loop_.warps, warp % loop_.warps,
                       warp % simulation_.schedulers));
    for (int track = 0; track < simulation_.schedulers * static_cast<int>(sm_parts); ++track)
      if (track % static_cast<int>(sm_parts) != 0)
        name("thread_name", pipes_process, track,
             fmt::format("scheduler {} {}", track / static_cast<int>(sm_parts),
                         to_string(static_cast<SmPart>(track % static_cast<int>(sm_parts)))));
    for (const SmEvent& event : loop_.steady.events) add(event);
    return std::move(list_);
  }

 private:
  double microseconds(Ticks clock) const {
    constexpr double nanoseconds = 1000;
    return static_cast<double>(clock) / static_cast<double>(ticks_a_clock) / nanoseconds;
  }

  void name(const char* what, int process, int thread, const std::string& text) {
    list_.push_back({{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}});
  }

  void slice(const std::string& text, int process, int thread, Ticks from, Ticks to, Json arguments) {
    list_.push_back({{"name", text},
                     {"ph", "X"},
                     {"pid", process},
                     {"tid", thread},
                     {"ts", microseconds(from - start_)},
                     {"dur", microseconds(to - from)},
                     {"args", std::move(arguments)}});
  }

  void add(const SmEvent& event) {
    const Instruction& instruction = code_.section.instructions[loop_.path[event.operation]];
    const Json arguments{{"address", fmt::format("{:#06x}", instruction.address)}, {"text", instruction.text()}};
    if (event.issued > event.ready)
      slice("wait: " + to_string(event.cause), warps_process, event.warp, event.ready, event.issued, arguments);
    slice(instruction.opcode, warps_process, event.warp, event.issued, event.issued + ticks_a_clock, arguments);
    if (event.effect == SmEffect::copy) {
      for (const bool begins : {true, false})
        list_.push_back({{"name", instruction.opcode},
                         {"cat", "copy"},
                         {"ph", begins ? "b" : "e"},
                         {"id", copies_},
                         {"pid", copies_process},
                         {"tid", event.warp},
                         {"ts", microseconds((begins ? event.issued : event.until) - start_)}});
      ++copies_;
    } else if (event.part != SmPart::none && event.until > event.started) {
      const int track = event.warp % simulation_.schedulers * static_cast<int>(sm_parts) + static_cast<int>(event.part);
      slice(instruction.opcode, pipes_process, track, event.started, event.until, {{"warp", event.warp}});
    }
  }

  const CodeSummary& code_;
  const KernelSimulation& simulation_;
  const SimulatedLoop& loop_;
  Ticks start_ = 0;
  int copies_ = 0;
  Json list_ = Json::array();
};

}  // namespace

std::string timeline_json(const std::string& kernel, const CodeSummary& code, const KernelSimulation& simulation,
                          const SimulatedLoop& loop) {
  const Json document{{"schema", "tilescope/timeline/1"},
                      {"displayTimeUnit", "ns"},
                      {"otherData",
                       {{"kernel", kernel},
                        {"hardware", simulation.hardware},
                        {"loop", fmt::format("{:#06x}", code.loops[loop.loop].header)},
                        {"resident_blocks", simulation.resident},
                        {"clocks_a_pass", loop.steady.clocks}}},
                      {"traceEvents", Timeline(code, simulation, loop).events()}};
  return document.dump() + "\n";
}

}  // namespace tilescope
