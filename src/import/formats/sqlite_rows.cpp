#include "import/formats/sqlite_rows.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/error.h"
#include "base/files/open_problem.h"
#include "base/text.h"

namespace tilescope::imported {
namespace {

constexpr int largest_value = 16 << 20;       // bytes of a text; names of kernels are below 64 KB
constexpr std::uint64_t least_row_bytes = 2;  // no row is shorter in a file

// Characters of a path that mean something in a URI.
std::string uri_of(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '_' || c == '-';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";  // no journal is looked for
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

}  // namespace

std::optional<std::int64_t> SqliteRow::integer(std::size_t column) const {
  const int at = (*columns_)[column];
  if (at < 0 || sqlite3_column_type(statement_, at) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, at);
}

std::string SqliteRow::text(std::size_t column) const {
  const int at = (*columns_)[column];
  if (at < 0 || sqlite3_column_type(statement_, at) != SQLITE_TEXT) return {};
  const unsigned char* bytes = sqlite3_column_text(statement_, at);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes),
                             static_cast<std::size_t>(sqlite3_column_bytes(statement_, at)))
               : std::string();
}

SqliteFile::SqliteFile(const std::filesystem::path& file) : file_(file.string()) {
  std::error_code error;
  bytes_ = std::filesystem::file_size(file, error);
  if (error) fail(open_problem(error.value()));
  if (sqlite3_open_v2(uri_of(file).c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) != SQLITE_OK) {
    const std::string problem = database_ ? sqlite3_errmsg(database_) : "out of memory";
    sqlite3_close(database_);
    fail("cannot be opened: " + problem);
  }
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, largest_value);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
}

SqliteFile::~SqliteFile() { sqlite3_close(database_); }

void SqliteFile::fail(const std::string& message) const {
  throw InputError(Diagnostic{.file = file_, .message = message});
}

std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> SqliteFile::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    fail(fmt::format("is no readable SQLite file: {}; export it again", shown_text(sqlite3_errmsg(database_))));
  return {statement, sqlite3_finalize};
}

bool SqliteFile::has_table(const std::string& name) {
  const auto statement = prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1");
  sqlite3_bind_text(statement.get(), 1, name.c_str(), -1, SQLITE_TRANSIENT);
  const int state = sqlite3_step(statement.get());
  if (state != SQLITE_ROW && state != SQLITE_DONE)
    fail(fmt::format("is damaged: {}; export it again", shown_text(sqlite3_errmsg(database_))));
  return state == SQLITE_ROW;
}

void SqliteFile::for_each(const std::string& table, const std::vector<std::string>& columns,
                          const std::function<void(const SqliteRow&)>& use) {
  const auto statement = prepare("SELECT * FROM " + quoted(table) + " NOT INDEXED");
  std::vector<int> positions(columns.size(), -1);
  for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
    const auto found = std::find(columns.begin(), columns.end(), sqlite3_column_name(statement.get(), i));
    if (found != columns.end()) positions[static_cast<std::size_t>(found - columns.begin())] = i;
  }
  const SqliteRow row(statement.get(), positions);
  std::uint64_t rows = 0;
  int state = SQLITE_ROW;
  while ((state = sqlite3_step(statement.get())) == SQLITE_ROW) {
    if (++rows > bytes_ / least_row_bytes) fail(fmt::format("is damaged: table {} repeats; export it again", table));
    use(row);
  }
  if (state != SQLITE_DONE) fail(fmt::format("is damaged: {}; export it again", shown_text(sqlite3_errmsg(database_))));
}

}  // namespace tilescope::imported
