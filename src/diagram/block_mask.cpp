#include "diagram/block_mask.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "config/reader.h"

namespace tilescope {
namespace {

constexpr std::int64_t largest_block = std::int64_t{1} << 40;

}  // namespace

Mask load_block_mask(const std::filesystem::path& file, const Workload& workload) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/mask/1");
  const Node root = document.root();
  root.only({"schema", "block_q", "block_kv", "rows"});
  auto blocks = std::make_shared<Mask::Blocks>();
  blocks->block_q = root["block_q"].integer(1, largest_block);
  blocks->block_kv = root["block_kv"].integer(1, largest_block);
  if (!document.clean()) document.finish();
  const auto columns = static_cast<std::size_t>(ceil_div(workload.kv_len, blocks->block_kv));
  const Node rows = root["rows"];
  for (const Node& row : rows.items()) {
    const std::string text = row.text();
    if (!text.empty() && (text.size() != columns || text.find_first_not_of("01") != std::string::npos))
      row.report(fmt::format("expected {} digits 0 or 1, one a key block of {}, found '{}'", columns, blocks->block_kv,
                             text.substr(0, 40)));
    std::vector<bool> live;
    for (const char c : text) live.push_back(c == '1');
    blocks->live.push_back(std::move(live));
  }
  const std::int64_t expected = ceil_div(workload.q_len, blocks->block_q);
  if (static_cast<std::int64_t>(blocks->live.size()) != expected)
    rows.report(fmt::format("expected {} rows, one a query block of {}, found {}", expected, blocks->block_q,
                            blocks->live.size()));
  document.finish();
  return Mask{
      .kind = MaskKind::blocks, .blocks = std::move(blocks), .text = to_string(MaskKind::blocks) + ":" + file.string()};
}

std::optional<Mask> load_mask(std::string_view text, const std::filesystem::path& directory, const Workload& workload) {
  if (const auto mask = parse_mask(text)) return mask;
  if (const auto file = mask_file(text)) return load_block_mask(directory / *file, workload);
  return std::nullopt;
}

}  // namespace tilescope
