// Shards of a sweep: a part of its rows, with what `sweep merge` must know to put all parts together.
//
// FILE.shard-0003-of-0100 has a line of JSON (tilescope/sweep-shard/1) with version, options, columns and the places of
// its points; then a line of JSON a row; and a last line with the number of rows and a checksum of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/rows/row_sink.h"
#include "request/sweep/order.h"

namespace tilescope::cli {

inline constexpr std::size_t most_shards = 1'000'000;  // of a sweep

struct ShardHead {
  std::string version, revision;
  Json options;          // that decide the rows, by name
  Json files;            // that the options name: a fingerprint of each
  Json first;            // row of the first point of the whole sweep: moves where data or program do
  bool objects = false;  // a row is a JSON object, else a list of cells
  std::vector<RowColumn> columns;
  std::vector<std::string> indexed;
  Shard shard;
  std::size_t points = 0;  // of the whole sweep

  Json json() const;
};

std::string shard_name(const std::string& file, const Shard& shard);
// Files of that name beside `file`, in the order of their numbers.
std::vector<std::string> shards_beside(const std::string& file);

// Whether the file is a whole shard with this head. A file that is none, or of other options, is not.
bool is_whole_shard(const std::string& file, const ShardHead& head);

// Writes FILE under its name when it is whole. `feasible`: whether some point can run.
class ShardSink : public RowSink {
 public:
  ShardSink(const std::string& file, const ShardHead& head);
  void add(Cells& row, RowBatch& batch) const override;
  void write(RowBatch& batch) override;
  void commit() override;
  void set_feasible(bool feasible) { feasible_ = feasible; }

 private:
  OutputFile output_;
  bool objects_;
  std::size_t rows_ = 0;
  std::uint64_t checksum_;
  bool feasible_ = false;
};

// Reads a shard line by line, with little memory. InputError, with the file's name, for what is no shard, or cut off,
// or changed.
class ShardReader {
 public:
  explicit ShardReader(const std::string& file);
  ~ShardReader();
  ShardReader(const ShardReader&) = delete;
  ShardReader& operator=(const ShardReader&) = delete;
  const ShardHead& head() const { return head_; }
  bool next(std::string& line);  // false: no more rows, and the last line agrees with them
  bool feasible() const { return feasible_; }

 private:
  bool line(std::string& text);
  [[noreturn]] void fail(const std::string& message) const;

  std::string file_;
  std::FILE* stream_ = nullptr;
  ShardHead head_;
  std::size_t rows_ = 0;
  std::uint64_t checksum_;
  bool feasible_ = false;
};

}  // namespace tilescope::cli
