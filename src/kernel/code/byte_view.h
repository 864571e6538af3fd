// Reads numbers and texts of a binary file; nothing outside the file's bytes is ever touched.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tilescope {

// Bytes of a file. Every function throws InputError, which names the file, when what it is asked for is not there.
class ByteView {
 public:
  ByteView(std::string_view bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  std::string_view bytes() const { return bytes_; }
  const std::string& file() const { return file_; }
  std::uint64_t size() const { return bytes_.size(); }

  template <class Number>
  Number read(std::uint64_t offset) const {
    Number value;
    std::memcpy(&value, part(offset, sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view part(std::uint64_t offset, std::uint64_t length) const {
    if (offset > bytes_.size() || length > bytes_.size() - offset)
      fail("ends before its headers say: it is cut off or damaged");
    return bytes_.substr(offset, length);
  }

  // Text up to a zero byte.
  std::string text(std::uint64_t offset) const {
    const std::string_view rest = part(offset, offset > bytes_.size() ? 0 : bytes_.size() - offset);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) fail("has a name without an end: it is damaged");
    return std::string(rest.substr(0, end));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(Diagnostic{.file = file_, .message = message});
  }

 private:
  std::string_view bytes_;
  std::string file_;
};

}  // namespace tilescope
