#include "cli/output/rows/shard_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files/open_problem.h"
#include "base/text.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* schema = "tilescope/sweep-shard/1";
constexpr std::size_t longest_line = std::size_t{16} << 20;
constexpr std::string_view between = ".shard-";

// FNV-1a, 64 bits: finds files that were cut off or changed by accident.
constexpr std::uint64_t checksum_of_nothing = 0xcbf29ce484222325u;
void add_to(std::uint64_t& checksum, std::string_view text) {
  for (const char c : text) checksum = (checksum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
}

// A number that is not whole, or out of range, is refused as any other type is.
std::size_t count_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_number_unsigned() ? value.get<std::size_t>() : throw Json::type_error::create(302, key, &value);
}

ShardHead head_of(const Json& json) {
  ShardHead head;
  head.version = json.at("version"), head.revision = json.at("revision");
  head.options = json.at("options"), head.files = json.value("files", Json::object()), head.first = json.at("first"),
  head.objects = json.at("rows") == "objects";
  for (const Json& column : json.at("columns"))
    head.columns.push_back({column.at("key"), column.at("unit"), column.at("meaning"), column.at("type")});
  head.indexed = json.at("indexed").get<std::vector<std::string>>();
  head.shard = {count_at(json.at("shard"), "number"), count_at(json.at("shard"), "of")};
  head.points = count_at(json, "points");
  return head;
}

}  // namespace

Json ShardHead::json() const {
  Json list = Json::array();
  for (const RowColumn& column : columns)
    list.push_back({{"key", column.key}, {"unit", column.unit}, {"meaning", column.meaning}, {"type", column.type}});
  const Places places = places_of(shard, points);
  return {{"schema", schema},
          {"version", version},
          {"revision", revision},
          {"options", options},
          {"files", files},
          {"shard", {{"number", shard.number}, {"of", shard.of}}},
          {"points", points},
          {"places", {places.first, places.end}},
          {"rows", objects ? "objects" : "cells"},
          {"columns", std::move(list)},
          {"indexed", indexed},
          {"first", first}};
}

std::string shard_name(const std::string& file, const Shard& shard) {
  const std::string of = std::to_string(shard.of);
  const std::size_t width = std::max<std::size_t>(4, of.size());
  return fmt::format("{}{}{:0{}}-of-{:0{}}", file, between, shard.number, width, shard.of, width);
}

std::vector<std::string> shards_beside(const std::string& file) {
  const fs::path path(file);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string start = path.filename().string() + std::string(between);
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(start))
      found.push_back((path.has_parent_path() ? folder / entry.path().filename() : entry.path().filename()).string());
  std::sort(found.begin(), found.end());
  return found;
}

bool is_whole_shard(const std::string& file, const ShardHead& head) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  try {
    ShardReader reader(file);
    if (reader.head().json() != head.json()) return false;
    for (std::string line; reader.next(line);) continue;
    return true;
  } catch (const InputError&) {
    return false;
  }
}

ShardSink::ShardSink(const std::string& file, const ShardHead& head)
    : output_(file), objects_(head.objects), checksum_(checksum_of_nothing) {
  output_.write(head.json().dump() + "\n");
}

void ShardSink::add(Cells& row, RowBatch& batch) const {
  batch.text += (objects_ ? row.front() : Json(std::move(row))).dump() + "\n";
  ++batch.count;
}

void ShardSink::write(RowBatch& batch) {
  add_to(checksum_, batch.text);
  rows_ += batch.count;
  output_.write(batch.text);
  batch.text.clear(), batch.count = 0;
}

void ShardSink::commit() {
  const Json end{
      {"end", true}, {"rows", rows_}, {"feasible", feasible_}, {"checksum", fmt::format("{:016x}", checksum_)}};
  output_.write(end.dump() + "\n");
  output_.commit();
}

ShardReader::ShardReader(const std::string& file)
    : file_(file), stream_(std::fopen(file.c_str(), "rbe")), checksum_(checksum_of_nothing) {
  if (stream_ == nullptr) fail(open_problem(errno));
  std::string text;
  try {
    if (!line(text)) fail("is empty, expected a shard of tilescope sweep --shard");
    const Json json = Json::parse(text);
    if (json.at("schema") != schema) fail(fmt::format("expected schema {}", schema));
    head_ = head_of(json);
    if (head_.shard.of > most_shards)
      fail(fmt::format("is one of {} shards, at most {} are possible", head_.shard.of, most_shards));
    if (head_.shard.number < 1 || head_.shard.number > head_.shard.of) fail("has no number among its shards");
  } catch (const Json::exception&) {
    std::fclose(std::exchange(stream_, nullptr));
    fail("is no shard of tilescope sweep --shard");
  } catch (const InputError&) {
    if (stream_) std::fclose(std::exchange(stream_, nullptr));
    throw;
  }
}

ShardReader::~ShardReader() {
  if (stream_) std::fclose(stream_);
}

void ShardReader::fail(const std::string& message) const {
  throw InputError(Diagnostic{.file = file_, .message = message});
}

bool ShardReader::line(std::string& text) {
  text.clear();
  char block[1 << 14];
  while (std::fgets(block, sizeof block, stream_) != nullptr) {
    text += block;
    if (text.ends_with('\n')) {
      text.pop_back();
      return true;
    }
    if (std::strlen(block) + 1 < sizeof block && !std::feof(stream_)) fail("holds a zero byte: it is damaged");
    if (text.size() > longest_line) fail("has a line that is too long for a shard");
  }
  return false;
}

bool ShardReader::next(std::string& text) {
  if (!line(text)) fail("is cut off: it has no last line; run this shard again");
  if (!text.starts_with("{\"end\":true,")) {
    add_to(checksum_, text), add_to(checksum_, "\n");
    ++rows_;
    return true;
  }
  try {
    const Json end = Json::parse(text);
    if (end.at("rows") != rows_ || end.at("checksum") != fmt::format("{:016x}", checksum_))
      fail("was changed: rows and checksum differ from its last line; run this shard again");
    feasible_ = end.at("feasible");
  } catch (const Json::exception&) {
    fail("is cut off in its last line; run this shard again");
  }
  return false;
}

}  // namespace tilescope::cli
