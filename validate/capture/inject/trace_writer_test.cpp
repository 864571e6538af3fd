// Traces as a process writes them, read back.
#include "validate/capture/inject/trace_writer.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "records/capture/trace_events.h"

using namespace tilescope;
using namespace tilescope::capture;

namespace {

namespace fs = std::filesystem;

class TraceFolder {
 public:
  TraceFolder() : path_((fs::temp_directory_path() / "tilescope-trace-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~TraceFolder() { fs::remove_all(path_); }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;
  const std::string& path() const { return path_; }

  // The events of the only trace.
  TraceEvents events() const {
    TraceEvents events;
    int traces = 0;
    for (const auto& entry : fs::directory_iterator(path_)) {
      CHECK(read_events(read_file(entry.path()), events));
      ++traces;
    }
    CHECK(traces == 1);
    return events;
  }

 private:
  std::string path_;
};

void put_process(TraceWriter& writer) {
  writer.put(TraceKind::process, {trace_version, 7, 6, 1'700'000'000'000'000'000, 130001, 13000},
             std::string_view("prog\0-x\0", 8));
}

}  // namespace

TEST_CASE("records written by threads, over several windows, are all read") {
  const TraceFolder folder;
  TraceWriter writer;
  REQUIRE(writer.open(folder.path()));
  put_process(writer);
  constexpr std::uint64_t each = 60'000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&writer, t] {
      for (std::uint64_t i = 0; i < each; ++i) writer.put(TraceKind::launch, {t, i}, std::string(i % 50, 'x'));
    });
  for (std::thread& thread : threads) thread.join();
  writer.close();
  const TraceEvents events = folder.events();
  CHECK(events.process.command == std::vector<std::string>{"prog", "-x"});
  CHECK(events.process.started == "2023-11-14T22:13:20Z");
  CHECK(events.process.notes.empty());
  std::array<std::uint64_t, 4> seen{};
  for (const TraceLaunch& launch : events.launches) CHECK(launch.correlation == seen.at(launch.call)++);
  CHECK(seen == std::array<std::uint64_t, 4>{each, each, each, each});
}

TEST_CASE("what a process wrote before it was killed is read") {
  const TraceFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    TraceWriter writer;
    writer.open(folder.path());
    put_process(writer);
    for (std::uint64_t i = 0; i < 1000; ++i) writer.put(TraceKind::launch, {1, i});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(folder.events().launches.size() == 1000);
}

TEST_CASE("a forked child that has abandoned the trace writes nothing, and the parent goes on") {
  const TraceFolder folder;
  TraceWriter writer;
  REQUIRE(writer.open(folder.path()));
  put_process(writer);
  writer.put(TraceKind::launch, {1, 1});
  const pid_t child = ::fork();
  if (child == 0) {
    writer.abandon();
    writer.put(TraceKind::launch, {1, 99});
    writer.close();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  writer.put(TraceKind::launch, {1, 2});
  writer.close();
  const TraceEvents events = folder.events();
  REQUIRE(events.launches.size() == 2);
  CHECK(events.launches[1].correlation == 2);
}

TEST_CASE("a trace that cannot be made stays inactive") {
  TraceWriter writer;
  CHECK(!writer.open("/no/such/directory"));
  CHECK(!writer.active());
  writer.put(TraceKind::launch, {1, 1});
  writer.close();
}
