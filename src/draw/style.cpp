#include "draw/style.h"

namespace tilescope::draw {

const char* font_class(Font font) {
  static constexpr const char* names[] = {"t-axis", "t-array", "t-op", "t-detail", "t-code", "t-island", "t-note"};
  return names[static_cast<std::size_t>(font)];
}

const std::string& picture_style() {
  static const std::string css = R"css(
.napkin { --d-paper: #ffffff; --d-ink: #1d2127; --d-ink-2: #565d68; --d-rule: #b9bec6; --d-outer: #1d2127;
  --d-chip: #b05c00; --d-state: #0b5fa5;
  --d-frame: #b05c00; --d-core: #f6f6f3; background: var(--d-paper); }
@media (prefers-color-scheme: dark) { .napkin { --d-paper: #181b20; --d-ink: #e9ebee; --d-ink-2: #a9b0bb;
  --d-rule: #4b525d; --d-outer: #e9ebee;
  --d-chip: #f0a455; --d-state: #6cb2f4; --d-frame: #f0a455; --d-core: #111317; } }
@media print { .napkin { --d-paper: #ffffff; --d-ink: #000000; --d-ink-2: #333333; --d-rule: #888888;
  --d-outer: #000000; --d-chip: #b05c00; --d-state: #0b5fa5;
  --d-frame: #b05c00; --d-core: #ffffff; } }
.napkin text { fill: var(--d-ink); font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  sans-serif; }
.napkin .t-axis, .napkin .t-array { font-family: "STIX Two Text", Cambria, Georgia, "Liberation Serif",
  "Times New Roman", serif; font-style: italic; }
.napkin .t-axis { font-size: 12px; }
.napkin .t-array { font-size: 14px; font-weight: 700; }
.napkin .t-op { font-size: 12px; font-weight: 620; }
.napkin .t-detail, .napkin .t-note { font-size: 11px; fill: var(--d-ink-2); }
.napkin .t-code { font-size: 10.5px; font-family: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas,
  "Liberation Mono", monospace; }
.napkin .t-island { font-size: 12.5px; font-weight: 650; }
.napkin .sub { font-size: 78%; }
.napkin .small { font-size: 9.46px; font-style: normal; font-weight: 400; fill: var(--d-ink-2);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.napkin path { fill: none; }
.napkin .w { stroke: var(--d-outer); stroke-width: 1.3; }
.napkin .w.chip { stroke: var(--d-chip); stroke-width: 1.9; }
.napkin .w.state { stroke-width: 4.4; }
.napkin .w.chip.state { stroke: var(--d-state); }
.napkin .hollow { stroke: var(--d-paper); stroke-width: 1.8; }
.napkin .w.view { stroke-dasharray: 5 3; }
.napkin .w.places { stroke-dasharray: 1.5 3; stroke-linecap: round; }
.napkin .dot { fill: var(--d-outer); }
.napkin .dot.chip { fill: var(--d-chip); }
.napkin .dot.chip.state { fill: var(--d-state); }
.napkin .end { stroke: var(--d-ink-2); stroke-width: 1.4; }
.napkin .tuple { stroke: var(--d-rule); stroke-width: 1; stroke-dasharray: 4 4; }
.napkin .island { fill: var(--d-frame); fill-opacity: .07; stroke: var(--d-frame); stroke-opacity: .55;
  stroke-width: 1.2; }
.napkin .weave { fill: var(--d-paper); stroke: var(--d-rule); stroke-width: 1; }
.napkin path.core { fill: var(--d-core); stroke: var(--d-ink); stroke-width: 1.5; }
.napkin .stub { stroke: var(--d-ink-2); stroke-width: 1; }
)css";
  return css;
}

}  // namespace tilescope::draw
