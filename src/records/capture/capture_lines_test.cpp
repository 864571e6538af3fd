// Captures written and read as JSON Lines, and damaged ones refused.
#include "records/capture/capture_lines.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "records/capture/summary.h"
#include "records/capture/test_trace.h"
#include "records/capture/trace.h"

namespace capture_lines_test {

using namespace tilescope;
using namespace tilescope::capture;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class CaptureFolder {
 public:
  CaptureFolder() : path_((fs::temp_directory_path() / "tilescope-lines-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~CaptureFolder() { fs::remove_all(path_); }
  CaptureFolder(const CaptureFolder&) = delete;
  CaptureFolder& operator=(const CaptureFolder&) = delete;
  fs::path operator/(const std::string& name) const { return fs::path(path_) / name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Capture example_capture() {
  Capture capture;
  REQUIRE(add_trace(
      example_trace().text(), [](const auto&, const auto&) { return true; }, capture));
  return capture;
}

Capture read_text(const std::string& text) {
  static const CaptureFolder folder;
  write_file(folder / "x.jsonl", text);
  return read_capture(folder / "x.jsonl");
}

std::string refusal(const std::string& text) {
  try {
    read_text(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(Json::parse(text.substr(at, text.find('\n', at) - at)));
  return lines;
}

std::string text_of(const std::vector<Json>& lines) {
  std::string text;
  for (const Json& line : lines) text += line.dump() + "\n";
  return text;
}

}  // namespace

TEST_CASE("a capture read and written again is the same, in every field") {
  const std::string text = capture_lines(example_capture());
  CHECK(capture_lines(read_text(text)) == text);
  CHECK(json_lines(text).size() == 11);
}

TEST_CASE("many times of one kind of launch stand on several lines, each with its part") {
  Capture capture = example_capture();
  CapturedLaunch& launch = capture.launches[0];
  launch.count = 25'003;
  launch.starts_ns.assign(25'000, 1);
  launch.durations_ns.assign(25'000, 2);
  const Capture read = read_text(capture_lines(capture));
  CHECK(read.launches.size() == capture.launches.size() + 2);
  std::int64_t count = 0, timed = 0, counted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    count += read.launches[i].count;
    timed += static_cast<std::int64_t>(read.launches[i].durations_ns.size());
    counted += static_cast<std::int64_t>(read.launches[i].counted.size());
  }
  CHECK(count == 25'003);
  CHECK(timed == 25'000);
  CHECK(counted == 1);
}

TEST_CASE("every key that must be there is missed, and every value of a wrong kind is refused, with its line") {
  const std::vector<Json> lines = json_lines(capture_lines(example_capture()));
  const std::vector<std::string> optional{"module", "device",      "stream",  "graph_node", "ranges",
                                          "notes",  "tensor_maps", "counted", "parameters"};
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const auto& [key, value] : lines[i].items()) {
      CAPTURE(lines[i].dump());
      CAPTURE(key);
      std::vector<Json> changed = lines;
      changed[i][key] = Json{{"wrong", "kind"}};
      CHECK(refusal(text_of(changed)).find(fmt::format("x.jsonl:{}: error: ", i + 1)) != std::string::npos);
      changed = lines;
      changed[i].erase(key);
      const bool may_be_absent = std::find(optional.begin(), optional.end(), key) != optional.end() &&
                                 !(lines[i].at("line") == "kernel" && key == "parameters");
      if (may_be_absent) CHECK(refusal(text_of(changed)) == "");
      else CHECK(refusal(text_of(changed)).find(fmt::format("x.jsonl:{}: error: {}", i + 1, key)) != std::string::npos);
    }
}

TEST_CASE("lines name only what stands above them") {
  std::vector<Json> lines = json_lines(capture_lines(example_capture()));
  const auto changed = [&](const char* kind, const char* key, const Json& value) {
    std::vector<Json> copy = lines;
    for (Json& line : copy)
      if (line.at("line") == kind) {
        line[key] = value;
        break;
      }
    return refusal(text_of(copy));
  };
  CHECK(changed("launch", "kernel", 99).find("expected one of the 3 kernels above, counted from 0, found 99") !=
        std::string::npos);
  CHECK(changed("kernel", "process", 1).find("expected one of the 1 processes") != std::string::npos);
  CHECK(changed("kernel", "module", "../../etc/passwd").find("expected the hash of a module above") !=
        std::string::npos);
  CHECK(changed("module", "hash", "../../../etc/passwd_and_more_32_").find("32 hexadecimal digits") !=
        std::string::npos);
  for (const std::int64_t offset : {std::int64_t{8}, std::numeric_limits<std::int64_t>::max()})
    CHECK(changed("launch", "addresses", {offset}).find("past the end") != std::string::npos);
  CHECK(changed("launch", "parameters", "0g").find("hexadecimal") != std::string::npos);
  CHECK(changed("launch", "durations_ns", {1, 2}).find("expected as many as starts_ns") != std::string::npos);
  CHECK(changed("launch", "grid", {1, 1}).find("three numbers") != std::string::npos);
  CHECK(changed("tensor_map", "box", {1}).find("1 to 5 dimensions") != std::string::npos);
  CHECK(changed("launch", "line", "lunch").find("found 'lunch'") != std::string::npos);
  CHECK(changed("launch", "schema", "tilescope/record/2").find("expected tilescope/capture/1") != std::string::npos);
}

TEST_CASE("files that are no capture are refused") {
  CHECK(refusal("").find("holds no line of a process") != std::string::npos);
  CHECK(refusal("{\"schema\":\"tilescope/capture/1\",\"line\":\"module\",\"hash\":\"") != "");
  const std::string other = refusal(
      "\x7f"
      "ELF\nb\nc\n");
  CHECK(other.find("is not a capture; expected the lines of JSON") != std::string::npos);
  CHECK(std::count(other.begin(), other.end(), '\n') <= 1);
  CHECK(refusal(std::string(9 << 20, 'x')).find("more than 8388608 bytes") != std::string::npos);
  CHECK_THROWS_AS(read_capture("/no/such/file"), InputError);
  const CaptureFolder folder;
  CHECK_THROWS_AS(read_capture(folder.path()), InputError);
}

TEST_CASE("a capture with any byte changed is read or refused, and never ends the program") {
  const std::string text = capture_lines(example_capture());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string changed = text;
    changed[at] = changed[at] == '"' ? '0' : '"';
    refused += refusal(changed) != "";
  }
  CHECK(refused == (text.size() + 6) / 7);
}

TEST_CASE("traces of a directory become one capture, whose modules are those that have the kernels") {
  const CaptureFolder folder;
  fs::create_directories(folder / "traces");
  fs::create_directories(folder / "cubins");
  write_file(folder / "traces/70-0.trace", example_trace().text());
  write_file(folder / "traces/71-0.trace", "no trace");
  write_file(folder / "cubins/0000000000000000000000000000000a.cubin", std::string("\0.text.kernel_a\0x", 17));
  write_file(folder / "cubins/0000000000000000000000000000000b.cubin", std::string("\0.text.kernel_bb\0", 17));
  const Capture capture = join_traces(folder.path());
  CHECK(capture.kernels.at(0).symbol == "kernel_a");
  CHECK(capture.kernels.at(0).module == "0000000000000000000000000000000a");
  CHECK(capture.kernels.at(1).symbol == "kernel_b");
  CHECK(capture.kernels.at(1).module == "");
  CHECK(!fs::exists(folder / "traces"));
  CHECK(capture_lines(read_capture(folder.path())) == capture_lines(capture));
  CHECK_THROWS_AS(join_traces(folder / "nowhere"), InputError);
}

TEST_CASE("kernels by their share of time") {
  Capture capture = example_capture();
  capture.kernels[1].symbol = "_ZN13pytorch_flash16flash_fwd_kernelILi1EEEvi";
  const std::vector<KernelShare> shares = kernel_shares(capture);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].name == "kernel_a");
  CHECK(shares[0].launches == 3);  // of both kinds of parameters
  CHECK(shares[0].share == doctest::Approx(0.5));
  CHECK(shares[0].median_seconds == doctest::Approx(50e-9));
  CHECK(shares[0].shared_bytes == 1536);
  CHECK(shares[0].counted == 1);
  CHECK(!shares[0].named_like_attention);
  CHECK(shares[1].name == "flash_fwd_kernel");
  CHECK(shares[1].named_like_attention);
  CHECK(shares[1].launches == 2);
  CHECK(shares[1].timed == 1);
}

TEST_CASE("a kernel's short name is without namespaces, arguments and template arguments") {
  CHECK(short_kernel_name("_ZN13pytorch_flash16flash_fwd_kernelILi1EEEvi") == "flash_fwd_kernel");
  CHECK(short_kernel_name("attn_fwd") == "attn_fwd");
  CHECK(short_kernel_name("void (anonymous namespace)::f<int>(int)") == "f");
  CHECK(short_kernel_name("") == "");
}

}  // namespace capture_lines_test
