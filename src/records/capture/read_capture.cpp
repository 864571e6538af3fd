#include <fmt/format.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "base/files/open_problem.h"
#include "records/capture/capture_lines.h"
#include "records/json_fields.h"

namespace tilescope::capture {
namespace {

using validate::JsonFields;

constexpr std::size_t longest_line = std::size_t{8} << 20;

class CaptureReader {
 public:
  CaptureReader(std::string file, std::vector<Diagnostic>& findings) : file_(std::move(file)), findings_(&findings) {}

  void read(std::string_view text, int line);
  Capture take();

 private:
  void process(const JsonFields& root);
  void module(const JsonFields& root);
  void kernel(const JsonFields& root);
  void tensor_map(const JsonFields& root);
  void launch(const JsonFields& root);
  std::int64_t place(const JsonFields& root, const std::string& key, std::size_t known, const char* what) const;
  std::array<std::int64_t, 3> three(const JsonFields& root, const std::string& key) const;

  std::string file_;
  std::vector<Diagnostic>* findings_;
  Capture capture_;
};

// A line names only lines above it.
std::int64_t CaptureReader::place(const JsonFields& root, const std::string& key, std::size_t known,
                                  const char* what) const {
  const std::int64_t value = root.integer(key, 0);
  if (value < static_cast<std::int64_t>(known)) return value;
  root.report(key, fmt::format("expected one of the {} {} above, counted from 0, found {}", known, what, value));
  return 0;
}

std::array<std::int64_t, 3> CaptureReader::three(const JsonFields& root, const std::string& key) const {
  const std::vector<std::int64_t> values = root.integers(key, 1);
  if (values.size() == 3) return {values[0], values[1], values[2]};
  root.report(key, fmt::format("expected three numbers, found {}", values.size()));
  return {1, 1, 1};
}

std::vector<std::string> texts_or_empty(const JsonFields& root, const std::string& key) {
  return root.has(key) ? root.texts(key) : std::vector<std::string>{};
}

void CaptureReader::process(const JsonFields& root) {
  CapturedProcess process;
  process.pid = root.integer("pid", 0);
  process.parent = root.integer("parent", 0);
  process.started = root.text("started");
  process.command = root.texts("command");
  process.driver = root.text("driver");
  process.cupti = root.text("cupti");
  for (const JsonFields& d : root.objects("devices"))
    process.devices.push_back({.ordinal = d.integer("ordinal", 0),
                               .name = d.text("name"),
                               .compute_capability = d.text("compute_capability"),
                               .multiprocessors = d.integer("multiprocessors", 0),
                               .l2_bytes = d.integer("l2_bytes", 0),
                               .memory_bytes = d.integer("memory_bytes", 0)});
  process.notes = texts_or_empty(root, "notes");
  capture_.processes.push_back(std::move(process));
}

void CaptureReader::module(const JsonFields& root) {
  CapturedModule module{root.text("hash"), root.integer("bytes", 0)};
  // The hash is a file's name: it must not lead elsewhere.
  if (module.hash.size() != 32 || module.hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    root.report("hash", "expected 32 hexadecimal digits");
  capture_.modules.push_back(std::move(module));
}

void CaptureReader::kernel(const JsonFields& root) {
  CapturedKernel kernel;
  kernel.process = place(root, "process", capture_.processes.size(), "processes");
  kernel.symbol = root.text("symbol");
  if (root.has("module")) {
    kernel.module = root.text("module");
    bool known = false;
    for (const CapturedModule& module : capture_.modules) known = known || module.hash == kernel.module;
    if (!known) root.report("module", "expected the hash of a module above");
  }
  kernel.registers = root.integer("registers", 0);
  kernel.static_shared_bytes = root.integer("static_shared_bytes", 0);
  kernel.local_bytes = root.integer("local_bytes", 0);
  kernel.most_threads = root.integer("most_threads", 0);
  for (const JsonFields& p : root.objects("parameters"))
    kernel.parameters.push_back({p.integer("offset", 0), p.integer("bytes", 1)});
  capture_.kernels.push_back(std::move(kernel));
}

void CaptureReader::tensor_map(const JsonFields& root) {
  CapturedTensorMap map;
  map.process = place(root, "process", capture_.processes.size(), "processes");
  map.type = root.text("type");
  map.dims = root.integers("dims", 0);
  map.strides = root.integers("strides", 0);
  map.box = root.integers("box", 1);
  map.element_strides = root.integers("element_strides", 0);
  map.interleave = root.text("interleave");
  map.swizzle = root.text("swizzle");
  map.l2_promotion = root.text("l2_promotion");
  map.fill = root.text("fill");
  const std::size_t rank = map.dims.size();
  if (rank < 1 || rank > 5 || map.strides.size() + 1 != rank || map.box.size() != rank ||
      map.element_strides.size() != rank)
    root.report("dims", "expected 1 to 5 dimensions, as many in box and element_strides, and one stride less");
  capture_.tensor_maps.push_back(std::move(map));
}

std::string bytes_of(const JsonFields& root, const std::string& key) {
  const std::string text = root.text(key);
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    root.report(key, "expected two hexadecimal digits a byte");
    return {};
  }
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2)
    bytes += static_cast<char>(digit(text[at]) * 16 + digit(text[at + 1]));
  return bytes;
}

void CaptureReader::launch(const JsonFields& root) {
  CapturedLaunch launch;
  launch.kernel = place(root, "kernel", capture_.kernels.size(), "kernels");
  launch.grid = three(root, "grid");
  launch.block = three(root, "block");
  launch.cluster = three(root, "cluster");
  launch.dynamic_shared_bytes = root.integer("dynamic_shared_bytes", 0);
  if (root.has("device")) launch.device = root.integer("device", 0);
  if (root.has("stream")) launch.stream = root.integer("stream", 0);
  if (root.has("graph_node")) launch.graph_node = root.integer("graph_node", 1);
  launch.ranges = texts_or_empty(root, "ranges");
  if (root.has("parameters")) {
    launch.parameters = bytes_of(root, "parameters");
    launch.addresses = root.integers("addresses", 0);
    for (const std::int64_t offset : launch.addresses)
      if (offset > static_cast<std::int64_t>(launch.parameters.size()) - 8)
        root.report("addresses", fmt::format("{} is past the end of the parameters", offset));
  }
  if (root.has("tensor_maps"))
    for (const JsonFields& m : root.objects("tensor_maps"))
      launch.tensor_maps.push_back(
          {m.integer("offset", 0), place(m, "tensor_map", capture_.tensor_maps.size(), "tensor maps")});
  launch.count = root.integer("count", 1);
  launch.starts_ns = root.integers("starts_ns", 0);
  launch.durations_ns = root.integers("durations_ns", 0);
  if (launch.starts_ns.size() != launch.durations_ns.size() ||
      static_cast<std::int64_t>(launch.starts_ns.size()) > launch.count)
    root.report("durations_ns", fmt::format("expected as many as starts_ns and at most {}, found {} and {}",
                                            launch.count, launch.durations_ns.size(), launch.starts_ns.size()));
  if (root.has("counted"))
    for (const JsonFields& c : root.objects("counted"))
      launch.counted.push_back({c.text("group"), c.integer("read_through_bytes", 0), c.number_map("values")});
  capture_.launches.push_back(std::move(launch));
}

void CaptureReader::read(std::string_view text, int line) {
  const std::size_t before = findings_->size();
  try {
    const nlohmann::json json = validate::parse_object(text, file_, "a line of a capture");
    const JsonFields root(json, file_, "", *findings_);
    const std::string schema = root.text("schema"), kind = root.text("line");
    if (findings_->size() != before) {
    } else if (schema != capture_schema) {
      root.report("schema", fmt::format("expected {}, found {}", capture_schema, schema));
    } else if (kind == "process") process(root);
    else if (kind == "module") module(root);
    else if (kind == "kernel") kernel(root);
    else if (kind == "tensor_map") tensor_map(root);
    else if (kind == "launch") launch(root);
    else root.report("line", fmt::format("expected process, module, kernel, tensor_map or launch, found '{}'", kind));
  } catch (const InputError& error) {
    findings_->insert(findings_->end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  for (std::size_t i = before; i < findings_->size(); ++i) (*findings_)[i].line = line;
}

Capture CaptureReader::take() {
  if (findings_->empty() && capture_.processes.empty())
    findings_->push_back({.file = file_, .message = "holds no line of a process; it is no capture"});
  if (!findings_->empty()) throw InputError(*findings_);
  return std::move(capture_);
}

}  // namespace

Capture read_capture(const std::filesystem::path& place) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(place, ignored);
  const std::filesystem::path file = folder ? place / capture_file_name : place;
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw InputError(Diagnostic{
        .file = file.string(),
        .message = open_problem(errno) + (folder ? "; a capture is a directory that tilescope capture -o DIRECTORY "
                                                   "-- COMMAND has written"
                                                 : "")});
  std::vector<Diagnostic> findings;
  CaptureReader reader(file.string(), findings);
  std::vector<char> buffer(longest_line);
  for (int line = 1; stream.getline(buffer.data(), static_cast<std::streamsize>(buffer.size())); ++line) {
    const std::string_view text = validate::line_of(stream, buffer.data());
    const std::size_t start = text.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) continue;
    if (line == 1 && text[start] != '{')
      throw InputError(
          Diagnostic{.file = file.string(),
                     .message = "is not a capture; expected the lines of JSON that tilescope capture -o DIRECTORY "
                                "-- COMMAND writes"});
    reader.read(text, line);
    if (findings.size() > 100) break;
  }
  if (findings.empty() && !stream.eof())
    findings.push_back(
        {.file = file.string(),
         .message = fmt::format("has a line of more than {} bytes, or cannot be read to its end", longest_line)});
  return reader.take();
}

}  // namespace tilescope::capture
