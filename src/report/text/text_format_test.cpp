#include "report/text/text_format.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "report/text/packed.h"

namespace text_format_test {

using namespace tilescope::report;

TEST_CASE("HTML and Markdown each escape what would be markup there") {
  CHECK(escape_html("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escape_markdown("a|b\nc*d") == "a\\|b c\\*d");
}

TEST_CASE("Whole bytes are printed exactly, other numbers with four digits and a prefix") {
  CHECK(quantity_text("read_bytes", 69222400) == "69,222,400 B");
  CHECK(quantity_text("read_bytes", 1234.75) == "1.235 kB");
  CHECK(quantity_text("tensor_flop", 4294967296.0) == "4,294,967,296 FLOP");
  CHECK(quantity_text("exp", 0) == "0");
  CHECK(quantity_text("seconds", 0.001234) == "1.234 ms");
  CHECK(quantity_text("seconds", 0) == "0 s");
  CHECK(quantity_text("clock_hz", 1.755e9) == "1.755 GHz");
  CHECK(quantity_text("seconds", {}) == "–");
  CHECK(quantity_short("read_bytes", 69222400) == "69.22 MB");
  CHECK(quantity_short("read_bytes", 69222400, 3) == "69.2 MB");
  CHECK(quantity_short("read_bytes", 999996) == "1.000 MB");
  CHECK(quantity_short("read_bytes", 999600, 3) == "1.00 MB");
  CHECK(quantity_short("exp", 12) == "12.00");
}

TEST_CASE("An error that rounds to zero is not printed as zero unless it is zero") {
  CHECK(error_text(1.0) == "0 %");
  CHECK(error_text(1.00001) == "< 0.01 %");
  CHECK(error_text(0.99999) == "< 0.01 %");
  CHECK(error_text(0.97) == "−3.00 %");
  CHECK(error_text(3.0) == "+200.0 %");
  CHECK(error_text(18.984) == "+1,798 %");
  CHECK(percent_text(127.0) == "12,700 %");
  CHECK(percent_text(0.0) == "0 %");
  CHECK(percent_text(1e-6) == "< 0.01 %");
  CHECK(percent_text(0.0123) == "1.23 %");
  CHECK(tolerance_text(0.0) == "exact");
  CHECK(tolerance_text(0.005) == "± 0.50 %");
  CHECK(tolerance_text({}) == "none");
}

TEST_CASE("Numbers for machines read back as the same value") {
  for (const double value : {0.0, 1.0, -5.0, 0.1, 1.0131030082702637, 9007199254740992.0, 1e300, 2e-6})
    CHECK(std::stod(plain_number(value)) == value);
  CHECK(plain_number(4294967296.0) == "4294967296");
  CHECK(plain_number({}).empty());
}

TEST_CASE("Quantities are named in words with the level in front, however the input spells them") {
  for (const char* name : {"read_bytes", "traffic read"}) CHECK(quantity_name(name, "hbm") == "HBM read");
  CHECK(quantity_name("traffic hbm read", "") == "HBM read");
  CHECK(quantity_name("operand_bytes smem read", "") == "SMEM operand reads");
  CHECK(quantity_name("operand_read_bytes", "smem") == "SMEM operand reads");
  CHECK(quantity_name("tensor_flop", "") == "tensor FLOP");
  CHECK(quantity_name("seconds", "") == "time");
  CHECK(quantity_name("something_new", "") == "something new");
  CHECK(quantity_name("a\n\xE2\x80\xA8 b", "") == "a   b");
}

TEST_CASE("The unit follows from the name of the quantity") {
  CHECK(unit_of("traffic read") == "B");
  CHECK(unit_of("operand_bytes read") == "B");
  CHECK(unit_of("tensor_flop") == "FLOP");
  CHECK(unit_of("seconds_cold") == "s");
  CHECK(unit_of("xu").empty());
}

TEST_CASE("Packed text is gzip in base64, and smaller than what it packs") {
  const std::string packed = packed_text(std::string(1000, 'a') + "</script>");
  CHECK(packed.starts_with("H4sI"));  // gzip's first bytes: 1f 8b 08
  CHECK(packed.size() % 4 == 0);
  CHECK(packed.size() < 100);
  CHECK(packed.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
        std::string::npos);
}

}  // namespace text_format_test
