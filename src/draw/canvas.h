// An SVG under construction: the elements of each layer, and the box of every text, so that tests can check for
// overlaps. Lengths are CSS pixels at full size.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::draw {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool holds(const Box& other) const {
    return left <= other.left && top <= other.top && right >= other.right && bottom >= other.bottom;
  }
};

enum class Font { axis, array, op, detail, code, island, note };
enum class Anchor { start, middle, end };
enum class Layer { frames, boxes, rules, wires, cores, texts, count };

// A text and what stands below it to the right: s_x.
struct Label {
  std::string text{}, subscript{}, small{};
};

struct PlacedText {
  std::string text{};
  Box box{};
};

// Text that is valid in XML: markup is escaped, and bytes that are not UTF-8 or characters not allowed in XML 1.0
// become U+FFFD.
std::string xml_text(std::string_view text);
// At most `most` characters, the last one an ellipsis where some were left out. Whole characters of UTF-8 only.
std::string shortened(std::string_view text, std::size_t most);
// Lines of at most `most` characters, broken behind spaces and underscores where there are any.
std::vector<std::string> wrapped(std::string_view text, std::size_t most);

// An upper bound over the fonts that the style names, in pixels.
double text_width(const Label& label, Font font);
double text_ascent(Font font);
double text_descent(Font font);

class Canvas {
 public:
  void text(double x, double baseline, const Label& label, Font font, Anchor anchor = Anchor::start);
  // `css` are classes; `title` is shown on hover; `data` is an SVG path.
  void path(Layer layer, const std::string& data, const std::string& css, const std::string& title = {});
  // A level line of a wire. Adjacent pieces are joined, so that no seam is visible between them.
  void level(const std::string& css, double x1, double y, double x2, const std::string& title = {});
  void rect(Layer layer, const Box& box, double radius, const std::string& css, const std::string& title = {});
  void circle(Layer layer, double x, double y, double radius, const std::string& css, const std::string& title = {});

  const std::vector<PlacedText>& texts() const { return texts_; }
  std::string content() const;

 private:
  std::array<std::string, static_cast<std::size_t>(Layer::count)> layers_{};
  struct Piece {
    std::string css{}, title{};
    double y = 0, from = 0, to = 0;
  };
  std::vector<PlacedText> texts_;
  std::vector<Piece> pieces_;
};

std::string number(double value);                               // at most two decimals
std::string line(double x1, double y, double x2);               // path data: level
std::string curve(double x1, double y1, double x2, double y2);  // path data: leaves and arrives level

}  // namespace tilescope::draw
