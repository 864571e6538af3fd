#include "kernel/code/code_file.h"

#include <doctest/doctest.h>
#include <lz4.h>

#include <cstring>
#include <random>

#include "base/files.h"
#include "kernel/code/fatbin.h"

namespace code_file_test {

using namespace tilescope;

namespace {

const std::string data = std::string(TILESCOPE_SOURCE_DIR) + "/src/kernel/code/testdata/";

// What `nvcc -Xptxas -v` of CUDA 13.0 printed (testdata/kernels.cu).
void check_kernels(const Cubin& cubin, std::int64_t registers_of_indexed) {
  REQUIRE(cubin.kernels.size() == 3);  // `called` is a function and no kernel
  const CubinKernel &clustered = cubin.kernels[0], &indexed = cubin.kernels[1], &staged = cubin.kernels[2];
  CHECK(clustered.name == "clustered");
  CHECK(clustered.registers == 10);
  CHECK(clustered.shared_bytes == 28);
  CHECK(clustered.barriers == 4);
  CHECK(clustered.cluster_blocks == 4);
  CHECK(indexed.name == "indexed");
  CHECK(indexed.registers == registers_of_indexed);
  CHECK(indexed.local_bytes == 1600);
  CHECK(indexed.shared_bytes == 0);
  CHECK(indexed.cluster_blocks == 0);
  CHECK(staged.name == "staged");
  CHECK(staged.registers == 10);
  CHECK(staged.shared_bytes == 4096);
  CHECK(staged.barriers == 1);
  CHECK(staged.most_threads == 256);
  REQUIRE(staged.parameters.size() == 4);  // two pointers, an int and a struct aligned to 8
  const KernelParameter expected[] = {{0, 8}, {8, 8}, {16, 4}, {24, 24}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(staged.parameters[i].offset == expected[i].offset);
    CHECK(staged.parameters[i].bytes == expected[i].bytes);
  }
  for (const CubinKernel& kernel : cubin.kernels) {
    CHECK(!kernel.code.empty());
    CHECK(kernel.code.size() % 16 == 0);
  }
}

// Reads damaged bytes: nothing but InputError may come of it.
template <class Read>
int refused_mutations(const std::string& good, unsigned seed, int count, Read read) {
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    std::string bad = good;
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    for (unsigned change = 0; change <= random() % 8 && !bad.empty(); ++change)
      bad[random() % bad.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    try {
      read(ByteView(bad, "mutated"));
    } catch (const InputError&) {
      ++refused;
    }
  }
  return refused;
}

template <class Number>
void put(std::string& bytes, std::size_t at, Number value) {
  bytes.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

TEST_CASE("a cubin and a compressed fat binary give what ptxas printed of their kernels") {
  const std::vector<Cubin> one = read_code_file(data + "kernels.cubin"), two = read_code_file(data + "kernels.fatbin");
  REQUIRE(one.size() == 1);
  CHECK(one[0].compute_capability == "9.0");
  check_kernels(one[0], 38);
  REQUIRE(two.size() == 2);
  CHECK(two[0].compute_capability == "9.0");
  CHECK(two[1].compute_capability == "10.0");
  check_kernels(two[0], 38);
  check_kernels(two[1], 26);
}

TEST_CASE("a relocatable object says which of its symbols are functions, and that no linker has seen it") {
  std::string bytes = read_file(data + "kernels.cubin");
  for (const CubinKernel& kernel : read_cubin({bytes, "linked"}).kernels) {
    CHECK(kernel.linked);
    CHECK_FALSE(kernel.is_function);
  }
  put<std::uint16_t>(bytes, 16, 1);  // e_type: relocatable
  const ElfFile elf = read_elf({bytes, "object"});
  for (const ElfSection& section : elf.sections)
    for (std::uint64_t i = 0; section.type == 2 && i < section.size / 24; ++i)
      if (elf.symbols[i] == "staged") put<std::uint8_t>(bytes, section.offset + 24 * i + 5, 0);  // no entry
  for (const CubinKernel& kernel : read_cubin({bytes, "object"}).kernels) {
    CHECK_FALSE(kernel.linked);
    CHECK(kernel.is_function == (kernel.name == "staged"));
  }
}

TEST_CASE("cubins that follow each other, one of them compressed by LZ4, are all found") {
  const std::string cubin = read_file(data + "kernels.cubin");
  std::string packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(cubin.size()))), '\0');
  packed.resize(static_cast<std::size_t>(LZ4_compress_default(
      cubin.data(), packed.data(), static_cast<int>(cubin.size()), static_cast<int>(packed.size()))));
  const auto container = [&](const std::string& contents, std::uint64_t flags) {
    std::string bytes(16 + 64, '\0');
    const std::size_t padded = (contents.size() + 7) / 8 * 8;
    put<std::uint32_t>(bytes, 0, 0xba55ed50), put<std::uint16_t>(bytes, 6, 16);
    put<std::uint64_t>(bytes, 8, 64 + padded);
    put<std::uint16_t>(bytes, 16, 2), put<std::uint32_t>(bytes, 16 + 4, 64), put<std::uint64_t>(bytes, 16 + 8, padded);
    put<std::uint32_t>(bytes, 16 + 16, flags ? static_cast<std::uint32_t>(contents.size()) : 0);
    put<std::uint32_t>(bytes, 16 + 28, 90), put<std::uint64_t>(bytes, 16 + 40, flags);
    put<std::uint64_t>(bytes, 16 + 56, flags ? cubin.size() : 0);
    bytes += contents;
    bytes.resize(16 + 64 + padded);
    return bytes;
  };
  const std::string both = container(packed, 0x2000) + std::string(16, '\0') + container(cubin, 0);
  const std::vector<FatbinEntry> entries = read_fatbin({both, "two"});
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].cubin == cubin);
  CHECK(entries[1].cubin.starts_with(cubin));  // contents are filled up to 8 bytes
}

TEST_CASE("files that are not device code, or are damaged, are refused with a message; nothing else happens") {
  for (const char* name : {"kernels.cu", "no_such_file"}) CHECK_THROWS_AS(read_code_file(data + name), InputError);
  CHECK_THROWS_AS(read_code_file("/bin/sh"), InputError);  // a program without CUDA code
  CHECK_THROWS_AS(read_cubin({"", "empty"}), InputError);
  const std::string cubin = read_file(data + "kernels.cubin"), fatbin = read_file(data + "kernels.fatbin");
  for (std::size_t length = 0; length < cubin.size() - 400;
       length += 37)  // program headers, which nobody reads, come last
    CHECK_THROWS_AS(read_cubin({std::string_view(cubin).substr(0, length), "cut off"}), InputError);
  CHECK(refused_mutations(cubin, 3, 4000, [](const ByteView& view) { read_cubin(view); }) > 500);
  CHECK(refused_mutations(fatbin, 4, 2000, [](const ByteView& view) {
          for (const FatbinEntry& entry : read_fatbin(view)) read_cubin({entry.cubin, "inside"});
        }) > 200);
}

TEST_CASE("sizes of a block or cluster whose product no GPU runs are refused") {
  const std::string bytes = read_file(TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/elf/overflow.cubin");
  CHECK_THROWS_WITH_AS(read_cubin({bytes, "c"}), doctest::Contains("blocks of a cluster"), InputError);
}

TEST_CASE("a container whose sizes add up to nothing is refused and not read again and again") {
  for (const char* name : {"empty_container", "wrapped_container"}) {
    CAPTURE(name);
    const std::string bytes = read_file(std::string(TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/elf/") + name + ".fatbin");
    CHECK_THROWS_WITH_AS(read_fatbin({bytes, "f"}), doctest::Contains("without a header"), InputError);
  }
}

TEST_CASE("a section that takes memory but no bytes of the file may lie beyond its end") {
  // .nv_debug.shared of libraries of CUDA 13 has a type of NVIDIA's, not SHT_NOBITS, and what follows it is nothing.
  std::string cubin = read_file(data + "kernels.cubin");
  const std::vector<CubinKernel> before = read_cubin({cubin, "c"}).kernels;
  std::uint64_t headers = 0;
  std::memcpy(&headers, cubin.data() + 40, sizeof headers);
  std::uint16_t sections = 0;
  std::memcpy(&sections, cubin.data() + 60, sizeof sections);
  int moved = 0;
  for (std::uint16_t i = 0; i < sections; ++i) {
    const std::size_t at = headers + i * std::size_t{64};
    std::uint32_t type = 0;
    std::memcpy(&type, cubin.data() + at + 4, sizeof type);
    if (type != 8) continue;  // SHT_NOBITS
    put<std::uint32_t>(cubin, at + 4, 0x7000000a), put<std::uint64_t>(cubin, at + 24, cubin.size()), ++moved;
  }
  REQUIRE(moved > 0);
  const std::vector<CubinKernel> after = read_cubin({cubin, "c"}).kernels;
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i].shared_bytes == before[i].shared_bytes);
}

}  // namespace code_file_test
