#include "draw/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "draw/style.h"
#include "draw/utf8.h"

namespace tilescope::draw {
namespace {

struct Face {
  double size;    // pixels
  bool fixed;     // monospaced
  double factor;  // on the table of widths: bold and sans are wider
};

Face face(Font font) {
  switch (font) {
    case Font::axis:
      return {12, false, 1.04};
    case Font::array:
      return {14, false, 1.12};
    case Font::op:
      return {12, false, 1.24};
    case Font::detail:
      return {11, false, 1.14};
    case Font::code:
      return {10.5, true, 1};
    case Font::island:
      return {12.5, false, 1.24};
    case Font::note:
      return {11, false, 1.14};
  }
  return {};
}

// Widths in em of a serif font. Characters outside ASCII count as 1 em, except the few that are used here.
double advance(char32_t c) {
  if (c > 0x7e) return c == 0xb7 || c == 0x2026 || c == 0x2211 ? 0.8 : 1.1;
  if (std::string_view("iljtfrI.,:;'!|()[] ").find(static_cast<char>(c)) != std::string_view::npos) return 0.36;
  if (std::string_view("mwMW@%").find(static_cast<char>(c)) != std::string_view::npos) return 0.92;
  return c >= 'A' && c <= 'Z' ? 0.72 : 0.53;
}

double width_of(std::string_view text, const Face& face) {
  double width = 0;
  for (const char32_t c : decoded(text))
    width += (face.fixed ? (c > 0x7e ? 1.1 : 0.61) : advance(c) * face.factor) * face.size;
  return width;
}

constexpr double subscript_size = 0.78;
constexpr double small_size = 0.86;

std::string titled(const std::string& title) { return title.empty() ? "" : "<title>" + xml_text(title) + "</title>"; }

}  // namespace

double text_width(const Label& label, Font font) {
  Face whole = face(font), part = whole, small = face(Font::note);
  part.size *= subscript_size, small.size *= small_size;
  const double behind = label.small.empty() ? 0 : width_of(label.small, small) + 5;
  return width_of(label.text, whole) + width_of(label.subscript, part) + behind;
}

double text_ascent(Font font) { return 0.93 * face(font).size; }
double text_descent(Font font) { return 0.26 * face(font).size; }

void Canvas::text(double x, double baseline, const Label& label, Font font, Anchor anchor) {
  const double width = text_width(label, font);
  const double left = anchor == Anchor::start ? x : anchor == Anchor::middle ? x - width / 2 : x - width;
  const double below = label.subscript.empty() ? text_descent(font) : text_descent(font) + 1.4;
  texts_.push_back(
      {label.text + label.subscript, {left, baseline - text_ascent(font), left + width, baseline + below}});
  static constexpr const char* anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  std::string content = xml_text(label.text);
  if (!label.subscript.empty())
    content += fmt::format(R"(<tspan class="sub" dy="2.2">{}</tspan>)", xml_text(label.subscript));
  if (!label.small.empty())
    content += fmt::format(R"(<tspan class="small" dx="4"{}>{}</tspan>)", label.subscript.empty() ? "" : " dy=\"-2.2\"",
                           xml_text(label.small));
  layers_[static_cast<std::size_t>(Layer::texts)] +=
      fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", font_class(font), number(x), number(baseline),
                  anchors[static_cast<std::size_t>(anchor)], content);
}

void Canvas::path(Layer layer, const std::string& data, const std::string& css, const std::string& title) {
  layers_[static_cast<std::size_t>(layer)] +=
      title.empty() ? fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css, data)
                    : fmt::format("<path class=\"{}\" d=\"{}\">{}</path>\n", css, data, titled(title));
}

void Canvas::rect(Layer layer, const Box& box, double radius, const std::string& css, const std::string& title) {
  layers_[static_cast<std::size_t>(layer)] +=
      fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="{}">{}</rect>)"
                  "\n",
                  css, number(box.left), number(box.top), number(box.right - box.left), number(box.bottom - box.top),
                  number(radius), titled(title));
}

void Canvas::circle(Layer layer, double x, double y, double radius, const std::string& css, const std::string& title) {
  layers_[static_cast<std::size_t>(layer)] += fmt::format(R"(<circle class="{}" cx="{}" cy="{}" r="{}">{}</circle>)"
                                                          "\n",
                                                          css, number(x), number(y), number(radius), titled(title));
}

void Canvas::level(const std::string& css, double x1, double y, double x2, const std::string& title) {
  pieces_.push_back({css, title, y, std::min(x1, x2), std::max(x1, x2)});
}

std::string Canvas::content() const {
  std::vector<Piece> pieces = pieces_;
  // "w ..." before "hollow", which is drawn over it
  const auto key = [](const Piece& piece) {
    return std::make_tuple(piece.css.front() != 'w', std::cref(piece.css), piece.y, std::cref(piece.title), piece.from);
  };
  std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) { return key(a) < key(b); });
  Canvas lines;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece piece = pieces[i];
    for (; i + 1 < pieces.size() && pieces[i + 1].css == piece.css && pieces[i + 1].title == piece.title &&
           std::abs(pieces[i + 1].y - piece.y) < 0.005 && pieces[i + 1].from < piece.to + 0.05;
         ++i)
      piece.to = std::max(piece.to, pieces[i + 1].to);
    lines.path(Layer::wires, line(piece.from, piece.y, piece.to), piece.css, piece.title);
  }
  std::string all;
  for (std::size_t i = 0; i < layers_.size(); ++i) all += "<g>\n" + layers_[i] + lines.layers_[i] + "</g>\n";
  return all;
}

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string line(double x1, double y, double x2) { return fmt::format("M{} {}H{}", number(x1), number(y), number(x2)); }

std::string curve(double x1, double y1, double x2, double y2) {
  if (std::abs(y1 - y2) < 0.005) return line(x1, y1, x2);
  const double middle = (x1 + x2) / 2;
  return fmt::format("M{} {}C{} {} {} {} {} {}", number(x1), number(y1), number(middle), number(y1), number(middle),
                     number(y2), number(x2), number(y2));
}

}  // namespace tilescope::draw
