#include "report/charts/levels.h"

#include "base/level.h"

namespace tilescope::report {
namespace {

struct LevelLook {
  LevelId level;
  const char *colour, *shape;
  std::array<int, 2> dash;  // 0, 0: a full line
};
constexpr LevelLook kLooks[] = {
    {LevelId::hbm, "var(--hbm)", "circle", {0, 0}},  {LevelId::llc, "var(--llc)", "triangle-down", {12, 4}},
    {LevelId::l2, "var(--l2)", "square", {7, 3}},    {LevelId::smem, "var(--smem)", "triangle-up", {2, 2}},
    {LevelId::tmem, "var(--tmem)", "cross", {4, 6}}, {LevelId::reg, "var(--register)", "diamond", {1, 4}}};

const LevelLook* look_of(const std::string& level) {
  const auto id = parse_kind<LevelId>(level);
  for (const LevelLook& look : kLooks)
    if (id == look.level) return &look;
  return nullptr;
}

}  // namespace

const char* level_colour(const std::string& level) {
  const LevelLook* look = look_of(level);
  return look ? look->colour : "var(--ink)";
}

const char* level_shape(const std::string& level) {
  const LevelLook* look = look_of(level);
  return look ? look->shape : "circle";
}

nlohmann::json level_dash(const std::string& level) {
  const LevelLook* look = look_of(level);
  if (!look || look->dash[0] == 0) return nlohmann::json::array({1, 0});
  return look->dash;
}

}  // namespace tilescope::report
