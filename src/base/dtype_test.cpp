#include "base/dtype.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "base/test_seed.h"

namespace dtype_test {

using namespace tilescope;

TEST_CASE("every format is parsed from its printed name and has the expected width") {
  for (const std::string& name : dtype_names()) {
    const auto dtype = parse_dtype(name);
    REQUIRE(dtype.has_value());
    CHECK(to_string(*dtype) == name);
    CHECK(*dtype == dtype_of(dtype->format));
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

TEST_CASE("block formats carry the scales of their specifications, and short names stand for the usual kind") {
  CHECK(parse_dtype("mxfp8") == Dtype{Format::mxfp8_e4m3, 32, 1});
  CHECK(parse_dtype("mxfp6") == Dtype{Format::mxfp6_e2m3, 32, 1});
  CHECK(parse_dtype("mxfp4") == Dtype{Format::mxfp4, 32, 1});
  CHECK(parse_dtype("nvfp4") == Dtype{Format::nvfp4, 16, 1, 0, 4});
  CHECK(parse_dtype("fp6") == Dtype{Format::fp6_e2m3});
  CHECK(parse_dtype("fp4") == Dtype{Format::fp4_e2m1});
  CHECK(to_string(*parse_dtype("mxfp8")) == "mxfp8_e4m3");
  CHECK(to_string(*parse_dtype("nvfp4")) == "nvfp4");
}

TEST_CASE("zero points and the scale of a whole array are parsed from their printed text") {
  CHECK(parse_dtype("int4:g128:z4") == Dtype{Format::int4, 128, 2, 4});
  CHECK(parse_dtype("int8:g64:b4:z8:t4") == Dtype{Format::int8, 64, 4, 8, 4});
  CHECK(parse_dtype("fp8:t4") == Dtype{Format::fp8_e4m3, 0, 0, 0, 4});
  for (const std::string text : {"int4:g128:b2:z4", "int8:g64:b4:z8:t4", "fp8_e4m3:t4", "fp4_e2m1:g16:b1:t4"})
    CHECK(to_string(*parse_dtype(text)) == text);
}

TEST_CASE("bytes of rows are packed values, then scales and zero points of every started group") {
  CHECK(row_bytes(*parse_dtype("mxfp4"), 3, 128) == 3 * (64 + 4));
  CHECK(row_bytes(*parse_dtype("nvfp4"), 3, 128) == 3 * (64 + 8));
  CHECK(row_bytes(*parse_dtype("mxfp6"), 1, 33) == 25 + 2);
  CHECK(row_bytes(*parse_dtype("fp6"), 2, 5) == 2 * 4);
  CHECK(row_bytes(*parse_dtype("int4:g32:z4"), 1, 96) == 48 + 6 + 2);
  CHECK(row_value_bytes(*parse_dtype("int4:g32:z4"), 1, 96) == 48);
}

// Bit by bit: values and zero points are laid into bytes one after the other.
std::int64_t laid_out(const Dtype& dtype, std::int64_t length) {
  std::int64_t value_bits = 0, zero_bits = 0, bytes = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    value_bits += bits(dtype.format);
    if (dtype.scale_group > 0 && i % dtype.scale_group == 0) bytes += dtype.scale_bytes, zero_bits += dtype.zero_bits;
  }
  while (value_bits > 0) ++bytes, value_bits -= 8;
  while (zero_bits > 0) ++bytes, zero_bits -= 8;
  return bytes;
}

TEST_CASE("random formats and rows take the bytes of a layout value by value, and never fewer in a wider format") {
  std::mt19937_64 random(test_seed());
  const auto draw = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t length = draw(300), rows = draw(5);
    Dtype a = dtype_of(static_cast<Format>(static_cast<int>(draw(format_count) - 1))), b = a;
    if (a.scale_group == 0 && draw(2) == 1) a.scale_group = draw(200), a.scale_bytes = draw(4), a.zero_bits = draw(16);
    CAPTURE(to_string(a));
    CAPTURE(length);
    CHECK(row_bytes(a, rows, length) == rows * laid_out(a, length));
    b = a, b.format = static_cast<Format>(static_cast<int>(draw(format_count) - 1));
    if (bits(a.format) <= bits(b.format)) CHECK(row_bytes(a, rows, length) <= row_bytes(b, rows, length));
  }
}

TEST_CASE("a text that is not a dtype is refused") {
  for (const std::string text : {"",
                                 "fp15",
                                 "FP16",
                                 "int4:",
                                 "int4:32",
                                 "int4:g0",
                                 "int4:g-1",
                                 "int4:g32:2",
                                 "int4:g32:b2:x",
                                 "mxfp4:g16",
                                 "nvfp4:t4",
                                 "fp16:b2",
                                 "fp16:z4",
                                 "int4:t4:g32",
                                 "fp7",
                                 "mxfp",
                                 "int32",
                                 ":",
                                 "int4:g99999999999999999999",
                                 "fp16 ",
                                 ":g32"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_dtype(text).has_value());
  }
}

}  // namespace dtype_test
