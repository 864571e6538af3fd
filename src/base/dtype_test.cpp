#include "base/dtype.h"

#include <doctest/doctest.h>

#include <string>

using namespace tilescope;

TEST_CASE("every format is parsed from its printed name and has the expected width") {
  for (const std::string& name : dtype_names()) {
    const auto dtype = parse_dtype(name);
    REQUIRE(dtype.has_value());
    CHECK(to_string(*dtype) == name);
    CHECK(dtype->scale_group == 0);
  }
  CHECK(bits(Format::fp32) == 32);
  CHECK(bits(Format::tf32) == 32);  // as stored
  CHECK(bits(Format::bf16) == 16);
  CHECK(bits(Format::fp8_e5m2) == 8);
  CHECK(bits(Format::int4) == 4);
}

TEST_CASE("block scales are parsed from their printed text, and a scale has two bytes by default") {
  CHECK(parse_dtype("int4:g32") == Dtype{Format::int4, 32, 2});
  CHECK(parse_dtype("int8:g128:b4") == Dtype{Format::int8, 128, 4});
  CHECK(to_string(Dtype{Format::int4, 32, 1}) == "int4:g32:b1");
  CHECK(parse_dtype("fp8") == Dtype{Format::fp8_e4m3});
}

TEST_CASE("a text that is not a dtype is refused") {
  for (const std::string text : {"", "fp15", "FP16", "int4:", "int4:32", "int4:g0", "int4:g-1", "int4:g32:2",
                                 "int4:g32:b2:x", "int4:g99999999999999999999", "fp16 ", ":g32"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_dtype(text).has_value());
  }
}
