// Rows of a table of an SQLite file that somebody else wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace tilescope::imported {

// The values of a row by the position of the asked column; a column that the table lacks has none.
class SqliteRow {
 public:
  SqliteRow(sqlite3_stmt* statement, const std::vector<int>& columns) : statement_(statement), columns_(&columns) {}
  std::optional<std::int64_t> integer(std::size_t column) const;
  std::string text(std::size_t column) const;  // empty: none

 private:
  sqlite3_stmt* statement_;
  const std::vector<int>* columns_;
};

// A file opened for reading alone: nothing in it is run, written or followed to other files.
class SqliteFile {
 public:
  explicit SqliteFile(const std::filesystem::path& file);  // throws InputError, as all members
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  bool has_table(const std::string& name);
  // Every row of a table. More rows than the file has bytes for are an error: the file is damaged.
  void for_each(const std::string& table, const std::vector<std::string>& columns,
                const std::function<void(const SqliteRow&)>& use);

 private:
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> prepare(const std::string& sql);
  [[noreturn]] void fail(const std::string& message) const;

  std::string file_;
  std::uint64_t bytes_ = 0;
  sqlite3* database_ = nullptr;
};

}  // namespace tilescope::imported
