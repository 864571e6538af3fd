#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "records/record_store.h"
#include "validate/measure/measure.h"
#include "validate/measure/point_run.h"

namespace tilescope::validate {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// During this object's lifetime, the first SIGINT requests a stop after the current point; a second SIGINT ends the
// program.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_ {};
};

// Checks that the output folder is writable before any GPU time is spent.
void prepare_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const char* why = error ? nullptr : ::access(folder.c_str(), W_OK) == 0 ? nullptr : std::strerror(errno);
  if (!error && why == nullptr) return;
  throw InputError(
      Diagnostic{.file = folder.string(),
                 .message = fmt::format("records cannot be written here: {}; name another output directory",
                                        error ? error.message() : std::string(why))});
}

// The record of a point; a device error says at which point it happened.
Record run_named_point(Bench& bench, const MeasurePoint& point, const ChosenVariant& chosen) {
  try {
    return run_point(bench, point, chosen);
  } catch (const DeviceMemoryError&) {
    throw;
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("at {}: {}", point_id(point), error.what()));
  }
}

// Measures one point, or determines why it cannot be measured. Fills all of `progress` except its index.
void measure_point(Bench& bench, const MeasurePoint& listed, RecordStore& store, bool resume,
                   MeasureProgress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const ChosenVariant chosen = choose_variant(listed);
  const MeasurePoint point = chosen.problem.empty() ? completed(listed, chosen) : listed;
  progress.point = point_id(point);
  if (!chosen.problem.empty()) {
    progress.state = PointState::unsupported;
    progress.message = chosen.problem;
    return;
  }
  if (resume && store.is_done(point, bench.environment)) {
    progress.state = PointState::kept;
    return;
  }
  bench.environment.date = utc_now();
  std::optional<Record> measured;
  try {
    measured = run_named_point(bench, point, chosen);
  } catch (const DeviceMemoryError& error) {  // the points after it may be smaller
    progress.state = PointState::unsupported;
    progress.message = error.what();
    return;
  }
  const Record& record = *measured;
  store.put(record);
  progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress.state = record.correctness->passed ? PointState::measured : PointState::incorrect;
  if (const auto others = record.clocks ? record.clocks->other_processes : std::nullopt; others.value_or(0) > 0)
    progress.message = fmt::format("{} other programs compute on this GPU, so that its times are too long", *others);
  if (!record.correctness->passed) {
    progress.message = fmt::format("error {:.3g} against a tolerance of {:.3g}", record.correctness->max_error,
                                   record.correctness->tolerance);
  }
}

}  // namespace

MeasureReport measure(const Experiment& experiment, const HardwareProfile& profile, const MeasureOptions& options) {
  if (experiment.hardware != profile.id) {
    throw InputError(
        Diagnostic{.file = experiment.file,
                   .path = "hardware",
                   .message = fmt::format("names {}, but the profile given is {}", experiment.hardware, profile.id)});
  }
  prepare_folder(options.output);
  RecordStore store(options.output, experiment.name);
  require_counters();
  Bench bench = make_bench(experiment, profile, options.revision);
  bench.data_directory = options.data_directory;
  const InterruptGuard guard;
  MeasureReport report;
  for (std::size_t i = 0; i < experiment.points.size() && interrupted == 0; ++i) {
    MeasureProgress progress;
    progress.index = i + 1;
    progress.total = experiment.points.size();
    measure_point(bench, experiment.points[i], store, options.resume, progress);
    switch (progress.state) {
      case PointState::measured:
        ++report.measured;
        break;
      case PointState::kept:
        ++report.kept;
        break;
      case PointState::unsupported:
        report.unsupported.push_back(progress.point + ": " + progress.message);
        break;
      case PointState::incorrect:
        ++report.measured;
        report.incorrect.push_back(progress.point + ": " + progress.message);
        break;
    }
    if (options.progress) options.progress(progress);
    report.interrupted = interrupted != 0 && i + 1 < experiment.points.size();
  }
  return report;
}

}  // namespace tilescope::validate
