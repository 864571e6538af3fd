// Which characters a name may have. Independent of the locale.
#pragma once

namespace tilescope {

inline bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace tilescope
