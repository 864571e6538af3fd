// The style sheet of the page, with the colours of the report's.
#pragma once

namespace tilescope::draw {

inline constexpr const char* page_style = R"css(
:root { color-scheme: light dark; --paper: #ffffff; --canvas: #f6f6f3; --ink: #1d2127; --ink-2: #565d68;
  --rule: #b9bec6; --grid: #e6e8eb; --accent: #0b5fa5; --curve-1: #0b5fa5; --curve-2: #b05c00; --curve-3: #16794f;
  --curve-4: #a0316c; --curve-5: #6d4aa8; --curve-6: #7a6400;
  --body: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { --paper: #181b20; --canvas: #111317; --ink: #e9ebee; --ink-2: #a9b0bb;
  --rule: #4b525d; --grid: #2a2f37; --accent: #7db8f0; --curve-1: #6cb2f4; --curve-2: #f0a455; --curve-3: #5fcf9d;
  --curve-4: #f08fc0; --curve-5: #c0a2f2; --curve-6: #d8c14d; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--canvas); color: var(--ink); font: 16px/1.55 var(--body);
  overflow-wrap: break-word; }
.page, main { max-width: 1320px; margin: 0 auto; padding: 0 24px; }
header.page { padding-top: 44px; }
h1 { font-size: clamp(1.5rem, 1.1rem + 1.8vw, 2.2rem); line-height: 1.2; font-weight: 650; letter-spacing: -0.015em;
  margin: 0 0 6px; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.3; font-weight: 620; letter-spacing: -0.01em; margin: 0 0 14px; }
h3 { font-size: 1rem; font-weight: 620; margin: 26px 0 8px; }
.lead { font-size: 1.1rem; max-width: 74ch; margin: 0 0 24px; text-wrap: pretty; }
main > section { background: var(--paper); border: 1px solid var(--grid); border-radius: 12px;
  padding: 28px 32px 30px; margin-bottom: 22px; }
main > section.pictures { padding: 22px 16px 24px; }
section p { max-width: 74ch; margin: 0 0 12px; }
footer.page { color: var(--ink-2); font-size: .875rem; padding-bottom: 40px; }
figure { margin: 0 0 18px; min-width: 0; }
figure:last-child { margin-bottom: 0; }
figcaption { color: var(--ink-2); font-size: .875rem; max-width: 84ch; margin: 8px 16px 0; }
figure svg { display: block; margin: 0 auto; max-width: 100%; height: auto; }
.plot text { font: 12px var(--body); fill: var(--ink-2); }
.plot .grid { stroke: var(--grid); } .plot .lead { stroke: var(--rule); fill: none; }
.plot .marked { stroke: var(--ink); stroke-dasharray: 2 3; }
math { font-size: 1.05rem; margin: 4px 0 12px; overflow-x: auto; overflow-y: hidden; max-width: 100%;
  text-align: left; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--grid); vertical-align: top;
  font-weight: 400; }
thead th { font-weight: 600; color: var(--ink-2); border-bottom-color: var(--rule); vertical-align: bottom; }
.n { text-align: right; white-space: nowrap; }
pre { background: var(--canvas); border: 1px solid var(--grid); border-radius: 8px; padding: 14px 16px;
  overflow-x: auto; font: .8125rem/1.5 var(--mono); margin: 0 0 12px; overflow-wrap: normal; }
@media (max-width: 760px) {
  .page, main { padding: 0 12px; }
  header.page { padding-top: 24px; }
  main > section { padding: 20px 16px 22px; border-radius: 10px; margin-bottom: 14px; }
  .scroll table { min-width: 540px; }
  .scroll td:last-child:not(.n) { min-width: 17rem; }
  figure svg { max-width: none; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --canvas: #fff; --ink: #000; --ink-2: #333; --rule: #666; --grid: #ccc;
    --accent: #000; --curve-1: #000; --curve-2: #333; --curve-3: #555; --curve-4: #000; --curve-5: #333;
    --curve-6: #555; }
  @page { margin: 14mm 12mm; }
  body { font-size: 10.5pt; }
  .page, main { max-width: none; padding: 0; }
  header.page { padding-top: 0; }
  main > section, main > section.pictures { border: 0; border-top: 1px solid #666; border-radius: 0;
    padding: 14px 0 8px; margin: 0; }
  h2, h3 { break-after: avoid; }
  tr, figcaption { break-inside: avoid; }
  figure svg { max-width: 100%; max-height: 240mm; }
  .scroll { overflow: visible; }
  pre { white-space: pre-wrap; }
}
)css";

}  // namespace tilescope::draw
