// Pictures of all shipped diagrams and schedules, of hostile names, and of a diagram as large as one may be.
#include "draw/diagram_svg.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "draw/layout/flow.h"
#include "draw/layout/order.h"
#include "draw/test_xml.h"

namespace tilescope::diagram_svg_test {
namespace {

const std::filesystem::path models = std::string(TILESCOPE_SOURCE_DIR) + "/models";

void check_picture(const DiagramPicture& picture) {
  CHECK(test::xml_finding(picture.svg) == "");
  const draw::Box view{0, 0, picture.width, picture.height};
  for (std::size_t i = 0; i < picture.texts.size(); ++i) {
    INFO(picture.texts[i].text);
    CHECK(view.holds(picture.texts[i].box));
    for (std::size_t j = i + 1; j < picture.texts.size(); ++j) {
      INFO(picture.texts[j].text);
      CHECK_FALSE(picture.texts[i].box.overlaps(picture.texts[j].box));
    }
  }
}

// What the texts say, without the breaks of lines.
std::string all_texts(const DiagramPicture& picture) {
  std::string all;
  for (const draw::PlacedText& text : picture.texts) all += text.text + "\n";
  return all;
}

bool says(const DiagramPicture& picture, const std::string& name) {
  std::string joined;  // names may be broken into lines behind '_' and ' '
  for (const char c : all_texts(picture))
    if (c != '\n' && c != ' ') joined += c;
  std::string wanted;
  for (const char c : name)
    if (c != ' ') wanted += c;
  return joined.find(wanted) != std::string::npos;
}

void check_names(const DiagramPicture& picture, const Diagram& diagram, const std::string& axis_prefix) {
  std::set<std::string> texts;
  for (const draw::PlacedText& text : picture.texts) texts.insert(text.text);
  for (const Array& array : diagram.arrays) CHECK_MESSAGE(texts.count(array.name) == 1, array.name);
  for (const Operator& op : diagram.operators) CHECK_MESSAGE(says(picture, op.name), op.name);
  for (const Axis& axis : diagram.axes) {
    const bool named = texts.count(axis.name) + texts.count("g" + axis.name) + texts.count("s" + axis.name) > 0;
    CHECK_MESSAGE(named, axis_prefix << axis.name);
  }
}

TEST_CASE("every shipped diagram is a picture that names everything and in which no two texts overlap") {
  const auto names = shipped_names(models / "diagrams");
  REQUIRE(names.size() > 5);
  for (const std::string& name : names) {
    INFO(name);
    const Diagram diagram = find_diagram(name, models);
    const DiagramPicture picture = draw_diagram(diagram, nullptr);
    check_picture(picture);
    check_names(picture, diagram, name + ": ");
    CHECK(picture.svg.find("class=\"island\"") == std::string::npos);
    CHECK(picture.svg.find("class=\"w chip") == std::string::npos);
    CHECK(picture.svg == diagram_svg(diagram, nullptr));
  }
}

TEST_CASE(
    "every shipped schedule is a picture with a named frame an island, accumulators and partial results included") {
  const auto names = shipped_names(models / "schedules");
  REQUIRE(names.size() > 5);
  for (const std::string& name : names) {
    INFO(name);
    const Schedule schedule = find_schedule(name, models);
    const DiagramPicture picture = draw_diagram(schedule.diagram, &schedule);
    check_picture(picture);
    for (const Island& island : schedule.islands) CHECK(says(picture, island.name));
    for (const Operator& op : schedule.diagram.operators) CHECK(says(picture, op.name));
    for (const Array& array : schedule.diagram.arrays)
      CHECK_MESSAGE(all_texts(picture).find(array.name + "\n") != std::string::npos, array.name);
  }
}

// Lanes of an island that are loads and stores, against what the schedule says of the island.
TEST_CASE("an array changes its colour exactly where the schedule moves it") {
  for (const std::string& name : shipped_names(models / "schedules")) {
    INFO(name);
    const Schedule schedule = find_schedule(name, models);
    const draw::Flow flow = draw::flow_of(schedule.diagram, &schedule);
    std::vector<std::set<std::string>> loaded(schedule.islands.size()), stored(schedule.islands.size());
    for (const auto& links : flow.gaps)
      for (const draw::Link& link : links) {
        const draw::Lane &from = flow.lanes[static_cast<std::size_t>(link.from)],
                         &to = flow.lanes[static_cast<std::size_t>(link.to)];
        if (from.island == to.island) continue;
        if (from.island >= 0) stored[static_cast<std::size_t>(from.island)].insert(flow.array(link.from).name);
        if (to.island >= 0 && !to.view) loaded[static_cast<std::size_t>(to.island)].insert(flow.array(link.to).name);
      }
    for (std::size_t i = 0; i < schedule.islands.size(); ++i) {
      INFO(schedule.islands[i].name);
      std::set<std::string> reads, writes;
      for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a) {
        const auto id = static_cast<ArrayId>(static_cast<int>(a));
        if (schedule.reads(schedule.islands[i], id)) reads.insert(schedule.diagram.array(id).name);
        if (schedule.writes(schedule.islands[i], id)) writes.insert(schedule.diagram.array(id).name);
      }
      CHECK(loaded[i] == reads);
      CHECK(stored[i] == writes);
    }
  }
}

TEST_CASE("a view starts as a branch of its source and is not a separate load") {
  const Schedule schedule = find_schedule("flash2", models, "mla_absorbed");
  const draw::Flow flow = draw::flow_of(schedule.diagram, &schedule);
  int views = 0, inputs = 0;
  for (const auto& links : flow.gaps)
    for (const draw::Link& link : links)
      if (flow.array(link.to).name == "V" && flow.array(link.from).name != "V") {
        ++views;
        CHECK(flow.array(link.from).name == "C");
      }
  for (const int lane : flow.first) inputs += flow.array(lane).name == "V" ? 1 : 0;
  CHECK(views == 1);
  CHECK(inputs == 0);
  check_picture(draw_diagram(schedule.diagram, &schedule));
}

TEST_CASE("the other diagrams of the forward schedule are pictures too") {
  for (const char* diagram :
       {"mla_absorbed", "mla_expanded", "attention_paged", "attention_softcap_alibi", "attention_spherical"}) {
    INFO(diagram);
    const Schedule schedule = find_schedule("flash2", models, diagram);
    check_picture(draw_diagram(schedule.diagram, &schedule));
  }
}

TEST_CASE("on-chip wires of flash2 are labelled with their partition, and L and O are running state") {
  const Schedule schedule = find_schedule("flash2", models);
  const DiagramPicture picture = draw_diagram(schedule.diagram, &schedule);
  const std::string texts = "\n" + all_texts(picture);
  for (const char* label : {"\ngq\n", "\nsx\n", "\ngb\n", "\nd\n", "\nq\n"})
    CHECK_MESSAGE(texts.find(label) != std::string::npos, label);
  for (const char* label : {"\nsq\n", "\ngx\n", "\ngd\n"}) CHECK_MESSAGE(texts.find(label) == std::string::npos, label);
  const draw::Flow flow = draw::flow_of(schedule.diagram, &schedule);
  std::set<std::string> state;
  for (std::size_t i = 0; i < flow.lanes.size(); ++i)
    if (flow.lanes[i].state) state.insert(flow.array(static_cast<int>(i)).name);
  CHECK(state == std::set<std::string>{"L", "O"});  // both fold over the streamed keys
}

Diagram chain(std::size_t arrays, std::size_t axes, const std::string& name) {
  Diagram diagram{.name = name, .summary = name, .axes = {}, .arrays = {}, .operators = {}, .guard = {}};
  std::vector<AxisId> all;
  for (std::size_t a = 0; a < axes; ++a) {
    diagram.axes.push_back({.name = name + std::to_string(a), .size = name, .extent = {}, .length = 8});
    all.push_back(static_cast<AxisId>(static_cast<int>(a)));
  }
  const auto inputs = arrays / 2;
  for (std::size_t a = 0; a < arrays; ++a) {
    const ArrayRole role = a < inputs ? ArrayRole::input : a + 1 == arrays ? ArrayRole::output : ArrayRole::interior;
    diagram.arrays.push_back({.name = name + "_" + std::to_string(a), .axes = all, .role = role, .dtype_key = "x"});
  }
  for (std::size_t a = inputs; a < arrays; ++a) {
    Operator op{.name = name + " " + std::to_string(a), .kind = OperatorKind::pointwise};
    op.inputs = {static_cast<ArrayId>(static_cast<int>(a) - 1), static_cast<ArrayId>(static_cast<int>(a - inputs))};
    op.outputs = {static_cast<ArrayId>(static_cast<int>(a))};
    op.expression = Expression::array("x") + Expression::array("y");
    diagram.operators.push_back(op);
  }
  return diagram;
}

TEST_CASE("a diagram with the maximum number of arrays and axes is drawn in order and in bounded time") {
  const Diagram diagram = chain(max_arrays, max_axes, "n");
  const DiagramPicture picture = draw_diagram(diagram, nullptr);
  check_picture(picture);
  check_names(picture, diagram, "");
}

TEST_CASE("hostile names are escaped and stay inside their boxes") {
  const std::string hostile = "</text></svg><script>alert('&\"')</script>]]>";
  for (const std::string& name :
       {hostile, std::string(3000, 'W'), std::string("\x01\xff\xc0\x80\xed\xa0\x80\n\t\xef\xbf\xbf"), std::string()}) {
    const Diagram diagram = chain(4, 3, name);
    Schedule schedule;
    schedule.name = schedule.summary = name;
    schedule.diagram = diagram;
    schedule.parameters = {{name, 64}};
    Island island{.name = name,
                  .operators = {0, 1},
                  .omits = {},
                  .loops = {{AxisId{0}, Partition::group, {.parameter = 0}}, {AxisId{1}, Partition::stream, {}}},
                  .stored_as = {}};
    for (Operator& op : schedule.diagram.operators)
      op.kind = OperatorKind::merge, op.over = {AxisId{1}};  // no formula to expand
    schedule.islands = {island};
    for (const Schedule* given : {static_cast<const Schedule*>(nullptr), static_cast<const Schedule*>(&schedule)}) {
      const DiagramPicture picture = draw_diagram(diagram, given);
      check_picture(picture);
      CHECK(picture.svg.find("<script") == std::string::npos);
      CHECK(picture.width < 4000);
    }
  }
}

TEST_CASE("the diagram that a schedule rewrote can be drawn without it") {
  for (const char* name : {"split-kv", "flash2-backward", "flash1"})
    check_picture(draw_diagram(find_schedule(name, models).diagram, nullptr));
}

TEST_CASE("the picture of a diagram without operators shows its inputs") {
  Diagram diagram = chain(2, 2, "i");
  diagram.operators.clear();
  check_picture(draw_diagram(diagram, nullptr));
}

// This simplest picture checks the cost that the layout search minimises: its wires must not cross.
TEST_CASE("the wires of a matmul do not cross outside of its box") {
  const Diagram diagram = find_diagram("matmul", models);
  const draw::Flow flow = draw::flow_of(diagram, nullptr);
  const draw::Order order = draw::order_of(flow);
  REQUIRE(flow.first.size() == 2);
  CHECK(order.first == flow.first);
  REQUIRE(order.stages.size() == 1);
  CHECK(order.stages[0].above.empty());
  CHECK(order.stages[0].below.empty());
  CHECK(order.stages[0].inputs == flow.steps[0].inputs);
}

}  // namespace
}  // namespace tilescope::diagram_svg_test
