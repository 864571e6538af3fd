#include <doctest/doctest.h>
#include <sqlite3.h>

#include <string>

#include "cli/run_program.h"

namespace tilescope::sqlite_sink_test {

using namespace tilescope::cli;

TEST_CASE("the query of the page on many points runs on a database that a sweep wrote") {
  const ScratchFolder folder;
  const std::string page = content_of(TILESCOPE_SOURCE_DIR "/docs/many-points.md"), start = "sqlite3 sweep.sqlite '";
  const std::size_t begin = page.find(start) + start.size();
  REQUIRE(begin > start.size());
  const std::string query = page.substr(begin, page.find('\'', begin) - begin), file = folder / "sweep.sqlite";
  REQUIRE(run_program("sweep --hardware h200_sxm --schedule flash2 --heads 16 --q-len 1k --head-dim 128 --l2 closed "
                      "--axis kv_len=1k,2k -o " +
                      file)
              .status == 0);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  int rows = 0;
  const auto count = [](void* counter, int, char**, char**) { return ++*static_cast<int*>(counter), 0; };
  CHECK(sqlite3_exec(database, query.c_str(), count, &rows, nullptr) == SQLITE_OK);
  CAPTURE(std::string(sqlite3_errmsg(database)));
  CHECK(rows == 2);
  sqlite3_close(database);
}

}  // namespace tilescope::sqlite_sink_test
