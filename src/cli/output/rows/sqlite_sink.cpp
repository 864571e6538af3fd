#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/output/rows/row_sink.h"

namespace tilescope::cli {
namespace {

// "a" quoted as a name of SQL.
std::string name_of(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

class SqliteSink : public RowSink {
 public:
  SqliteSink(const std::string& file, const std::vector<RowColumn>& columns, std::vector<std::string> indexed)
      : file_(file), output_(file), indexed_(std::move(indexed)) {
    check(::sqlite3_open_v2(output_.temporary().c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr));
    // The file has no reader before it is renamed: a journal would protect nothing.
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN");
    make_tables(columns);
  }
  ~SqliteSink() override {
    ::sqlite3_finalize(insert_);
    ::sqlite3_close(database_);
  }
  SqliteSink(const SqliteSink&) = delete;
  SqliteSink& operator=(const SqliteSink&) = delete;

  void add(Cells& row, RowBatch& batch) const override { batch.rows.push_back(std::move(row)); }
  void write(RowBatch& batch) override {
    for (const Cells& row : batch.rows) insert(row);
    batch.rows.clear();
  }
  void commit() override {
    for (const std::string& key : indexed_)
      run(fmt::format("CREATE INDEX {} ON points({})", name_of("points_by_" + key), name_of(key)));
    run("COMMIT");
    ::sqlite3_finalize(std::exchange(insert_, nullptr));
    check(::sqlite3_close(std::exchange(database_, nullptr)));
    output_.commit();
  }

 private:
  void make_tables(const std::vector<RowColumn>& columns) {
    std::vector<std::string> typed, shown, places;
    for (const RowColumn& column : columns) {
      typed.push_back(name_of(column.key) + " " + column.type);
      places.emplace_back("?");
      shown.push_back(column.unit.empty()
                          ? name_of(column.key)
                          : name_of(column.key) + " AS " + name_of(fmt::format("{} [{}]", column.key, column.unit)));
    }
    run("CREATE TABLE points(" + join(typed, ", ") + ")");
    run("CREATE TABLE columns(name TEXT PRIMARY KEY, unit TEXT, meaning TEXT)");
    run("CREATE VIEW points_with_units AS SELECT " + join(shown, ", ") + " FROM points");
    prepare("INSERT INTO columns VALUES(?, ?, ?)");
    for (const RowColumn& column : columns) insert({column.key, column.unit, column.meaning});
    prepare("INSERT INTO points VALUES(" + join(places, ", ") + ")");
  }

  void prepare(const std::string& sql) {
    ::sqlite3_finalize(std::exchange(insert_, nullptr));
    check(::sqlite3_prepare_v2(database_, sql.c_str(), -1, &insert_, nullptr));
  }

  void insert(const Cells& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int at = static_cast<int>(i) + 1;
      const Json& cell = row[i];
      if (cell.is_boolean()) check(::sqlite3_bind_int(insert_, at, cell.get<bool>()));
      else if (cell.is_number_integer()) check(::sqlite3_bind_int64(insert_, at, cell.get<std::int64_t>()));
      else if (cell.is_number()) check(::sqlite3_bind_double(insert_, at, cell.get<double>()));
      else if (cell.is_string()) {
        const auto& text = cell.get_ref<const std::string&>();
        check(::sqlite3_bind_text(insert_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
      } else check(::sqlite3_bind_null(insert_, at));
    }
    if (::sqlite3_step(insert_) != SQLITE_DONE) fail();
    check(::sqlite3_reset(insert_));
  }

  void run(const std::string& sql) { check(::sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr)); }
  void check(int result) {
    if (result != SQLITE_OK) fail();
  }
  [[noreturn]] void fail() {
    throw InputError(
        Diagnostic{.file = file_,
                   .message = fmt::format("cannot be written as SQLite: {}; choose a writable place with free space; "
                                          "nothing was changed",
                                          database_ ? ::sqlite3_errmsg(database_) : "out of memory")});
  }

  std::string file_;
  OutputFile output_;
  std::vector<std::string> indexed_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

}  // namespace

std::unique_ptr<RowSink> sqlite_sink(const std::string& file, const std::vector<RowColumn>& columns,
                                     const std::vector<std::string>& indexed) {
  return std::make_unique<SqliteSink>(file, columns, indexed);
}

}  // namespace tilescope::cli
