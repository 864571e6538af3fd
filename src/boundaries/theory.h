// What the theory says of a derived schedule beyond its diagram: on GPUs and in other number formats.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/page_section.h"
#include "boundaries/clusters.h"
#include "boundaries/formats.h"
#include "boundaries/gpus.h"
#include "boundaries/levels.h"

namespace tilescope {

struct TheoryQuestion {
  std::filesystem::path models{};
  std::vector<HardwareProfile> gpus{};
  std::vector<std::int64_t> clusters{};          // sizes; empty: not asked
  std::vector<std::string> formats{};            // the first is that of the derivation
  std::vector<DeriveRequest> format_requests{};  // one a format
};

struct TheoryAnswers {
  struct Levels {
    std::string hardware;
    std::vector<BoundaryOptimum> optima;
  };
  BoundSchedule schedule{};
  std::vector<Levels> levels{};  // one a GPU
  std::vector<GpuMerit> gpus{};  // of two GPUs or more
  std::string gpus_refused{};    // why GPUs cannot be compared by the law
  std::vector<ClusterRow> clusters{};
  std::string clusters_refused{};
  std::optional<FormatChange> formats{};  // of two formats or more
};

// About the named schedule, or the best ranked one.
TheoryAnswers theory_answers(const TheoryQuestion& question, const Derivation& derivation,
                             const NamedDerivation* named);

std::vector<PageSection> theory_sections(const TheoryAnswers& answers);

// {"levels": [...], "gpus": {...}, "clusters": {...}, "formats": {...}}: keys of what was asked.
nlohmann::ordered_json theory_json(const TheoryAnswers& answers);

}  // namespace tilescope
