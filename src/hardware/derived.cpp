#include "hardware/derived.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <variant>

#include "base/file_cache.h"
#include "hardware/changes.h"
#include "hardware/derived_rules.h"
#include "hardware/measured_write.h"

namespace tilescope {
namespace {

using Rates = MeasuredRates;
using Field =
    std::variant<const Rates::Value*, const Rates::ByFormat*, const Rates::ByCount*, const Rates::ByFormatAndCount*>;

std::map<std::string, Field> fields_by_path(const Rates& rates) {
  std::map<std::string, Field> fields;
  visit_measured(rates, [&](const std::string& group, const std::string& key, Dimension, const auto& field) {
    fields[group + "." + key] = &field;
  });
  return fields;
}

// Dies of data-centre GPUs (GA100, GH100, GB110) have another L2 and other launch hardware than those of graphics
// cards.
bool data_centre_chip(const HardwareProfile& profile) {
  return profile.chip.ends_with("100") || profile.chip.ends_with("110");
}

auto distance(const HardwareProfile& from, const HardwareProfile& to) {
  return std::tuple(from.chip != to.chip, data_centre_chip(from) != data_centre_chip(to),
                    from.architecture != to.architecture, std::abs(capability_of(from) - capability_of(to)));
}

bool is_measured(const HardwareProfile& profile) {
  return profile.measured && profile.measured->hbm.read && profile.measured->hbm.read->source == measured_source;
}

// The donors of a rule that are nearest to a GPU, itself left out.
std::vector<const HardwareProfile*> donors_of(const RateRule& rule, const HardwareProfile& profile,
                                              const std::vector<HardwareProfile>& others) {
  const std::string itself = name_and_changes(profile.id).first;
  std::vector<const HardwareProfile*> donors;
  for (const HardwareProfile& other : others) {
    if (other.id == itself || other.vendor != profile.vendor || rule.scale(other) <= 0) continue;
    if (rule.donors == RuleDonors::published ? rule.given(other) <= 0 : !is_measured(other)) continue;
    if (rule.donors == RuleDonors::same_chip && other.chip != profile.chip) continue;
    donors.push_back(&other);
  }
  if (donors.empty()) return donors;
  const auto nearest = [&](const auto* a, const auto* b) { return distance(profile, *a) < distance(profile, *b); };
  const auto least = distance(profile, **std::min_element(donors.begin(), donors.end(), nearest));
  std::erase_if(donors, [&](const auto* donor) { return distance(profile, *donor) > least; });
  return donors;
}

// Fills what one field lacks by a rule.
class RuleFiller {
 public:
  RuleFiller(const RateRule& rule, const HardwareProfile& profile, const std::vector<HardwareProfile>& others)
      : rule_(rule), scale_(rule.scale(profile)) {
    if (scale_ <= 0 || rule.donors == RuleDonors::none) return;
    for (const HardwareProfile* donor : donors_of(rule, profile, others))
      donors_.push_back({donor, rule.given ? std::map<std::string, Field>() : fields_by_path(*donor->measured)});
  }

  void fill(const std::string& path, Rates::Value& field) const {
    if (field || scale_ <= 0) return;
    if (rule_.donors == RuleDonors::none) {
      field = {scale_, derived_source};
      return;
    }
    std::vector<double> parts;
    for (const Donor& donor : donors_) {
      const double scale = rule_.scale(*donor.profile);
      if (rule_.given) parts.push_back(rule_.given(*donor.profile) / scale);
      else if (const auto& value = *std::get<const Rates::Value*>(donor.fields.at(path)))
        parts.push_back(value->value / scale);
    }
    if (!parts.empty()) field = {scale_ * mean(parts), derived_source};
  }

  // Counts belong together: a field that has one keeps its own.
  void fill(const std::string& path, Rates::ByCount& field) const {
    if (field.empty()) fill_map(path, field);
  }
  void fill(const std::string& path, Rates::ByFormat& field) const { fill_map(path, field); }
  void fill(const std::string&, Rates::ByFormatAndCount&) const {}  // filled by the rates of matrix instructions

 private:
  struct Donor {
    const HardwareProfile* profile;
    std::map<std::string, Field> fields;
  };

  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  template <class Map>
  void fill_map(const std::string& path, Map& field) const {
    std::map<typename Map::key_type, std::vector<double>> parts;
    for (const Donor& donor : donors_)
      for (const auto& [key, value] : *std::get<const Map*>(donor.fields.at(path)))
        if (scale_ > 0) parts[key].push_back(value.value / rule_.scale(*donor.profile));
    for (const auto& [key, values] : parts)
      field.try_emplace(key, Sourced<double>{scale_ * mean(values), derived_source});
  }

  const RateRule& rule_;
  double scale_;
  std::vector<Donor> donors_;
};

void apply_rule(const RateRule& rule, HardwareProfile& profile, const std::vector<HardwareProfile>& others) {
  if (!rule.serves(profile)) return;
  const RuleFiller filler(rule, profile, others);
  visit_measured(*profile.measured, [&](const std::string& group, const std::string& key, Dimension, auto& field) {
    const std::string path = group + "." + key;
    if (std::any_of(rule.entries.begin(), rule.entries.end(), [&](const char* entry) { return path == entry; }))
      filler.fill(path, field);
  });
}

// Clocks between m16n8k16 (8 bits: k32) of a sub-partition and between m64nNk16 (8 bits: k32) of a unit, at the tensor
// cores' rate.
constexpr double mma_flop = 2.0 * 16 * 8 * 16, wgmma_flop_a_column = 2.0 * 64 * 16;
constexpr const char* of_nearest = "as on the nearest measured GPU";
constexpr std::array<std::int64_t, 5> wgmma_columns{64, 96, 128, 192, 256};

bool has_matrix_rule(const HardwareProfile& profile) { return capability_of(profile) >= 7; }
bool has_wgmma(const HardwareProfile& profile) { return profile.compute_capability == "9.0"; }

double mma_interval(const HardwareProfile& profile, Format format, double full_rate) {
  double rate = full_rate;
  if (const auto path = profile.instruction_flop_per_cycle.find("mma.sync");
      path != profile.instruction_flop_per_cycle.end())
    if (const auto limit = path->second.find(format); limit != path->second.end()) rate = limit->second.value;
  const double schedulers = profile.schedulers_per_unit ? static_cast<double>(profile.schedulers_per_unit->value) : 4;
  return mma_flop * 16 / bits(format) * schedulers / rate;
}

void derive_matrix_rates(HardwareProfile& profile, const std::vector<HardwareProfile>& others) {
  if (!has_matrix_rule(profile)) return;
  auto& tensor = profile.measured->tensor;
  for (const Format format : {Format::fp16, Format::bf16, Format::fp8_e4m3}) {
    const auto rate = profile.tensor_flop_per_cycle.find(format);
    if (rate == profile.tensor_flop_per_cycle.end()) continue;
    if (bits(format) == 16)
      tensor.mma.try_emplace(format,
                             Sourced<double>{mma_interval(profile, format, rate->second.value), derived_source});
    if (!has_wgmma(profile)) continue;
    const double flop_a_column = wgmma_flop_a_column * 16 / bits(format);
    for (const auto& by_operand : {&tensor.wgmma_smem, &tensor.wgmma_register})
      for (const std::int64_t columns : wgmma_columns)
        (*by_operand)[format].try_emplace(
            columns,
            Sourced<double>{flop_a_column * static_cast<double>(columns) / rate->second.value, derived_source});
  }
  // A result comes so many clocks after the instruction's own as on the nearest measured GPU.
  const RateRule nearest{"", [](const HardwareProfile&) { return 1.0; }, RuleDonors::measured, {}};
  for (auto& [format, interval] : tensor.mma) {
    double beyond = 0, count = 0;
    for (const HardwareProfile* donor : donors_of(nearest, profile, others)) {
      const auto& of = donor->measured->tensor;
      const auto own = of.mma.find(format), latency = of.mma_latency.find(format);
      if (own != of.mma.end() && latency != of.mma_latency.end())
        beyond += latency->second.value - own->second.value, ++count;
    }
    if (count > 0)
      tensor.mma_latency.try_emplace(format, Sourced<double>{interval.value + beyond / count, derived_source});
  }
}

// A launch fills groups of 16 SMs (GPCs) in turn, whose sides alternate.
Sourced<std::vector<UnitGroup>> derived_groups(const HardwareProfile& profile) {
  constexpr std::int64_t units_of_group = 16;
  const std::int64_t units = profile.units.value, count = std::max<std::int64_t>(1, (units + 8) / units_of_group);
  const int sides = profile.l2_partitions ? static_cast<int>(profile.l2_partitions->value) : 1;
  std::vector<UnitGroup> groups;
  for (std::int64_t i = 0; i < count; ++i)
    groups.push_back({units * (i + 1) / count - units * i / count, static_cast<int>(i) % sides});
  return {groups, derived_source};
}

void derive_l2_shape(HardwareProfile& profile, const std::vector<HardwareProfile>& others) {
  const RateRule nearest{"", [](const HardwareProfile&) { return 1.0; }, RuleDonors::measured, {}};
  const auto donors = donors_of(nearest, profile, others);
  if (donors.empty()) return;
  const HardwareProfile& donor = *donors.front();
  const auto as_donor = [&](auto HardwareProfile::*field) {
    if (profile.*field || !(donor.*field)) return;
    profile.*field = donor.*field, (profile.*field)->source = derived_source;
  };
  as_donor(&HardwareProfile::l2_ways), as_donor(&HardwareProfile::l2_dirty_ways);
  const MemoryLevel *own = profile.level(LevelId::l2), *its = donor.level(LevelId::l2);
  if (!profile.l2_slices && donor.l2_slices && own->capacity_bytes && its->capacity_bytes)
    profile.l2_slices = {std::llround(static_cast<double>(donor.l2_slices->value) * own->capacity_bytes->value /
                                      its->capacity_bytes->value),
                         derived_source};
  if (!profile.l2_groups) profile.l2_groups = derived_groups(profile);
}

void forget_own_measurements(HardwareProfile& profile) {
  profile.measured.reset();
  profile.l2_groups.reset(), profile.l2_ways.reset(), profile.l2_dirty_ways.reset(), profile.l2_slices.reset();
  profile.l2_capacity_slices.reset();
}

std::string capabilities(const RateRule& rule) {
  if (rule.least_capability == rule.most_capability) return fmt::format("{:.1f}", rule.least_capability);
  if (rule.least_capability > 0) return fmt::format("{:.1f} and later", rule.least_capability);
  return rule.most_capability < 100 ? fmt::format("up to {:.1f}", rule.most_capability) : "";
}

}  // namespace

HardwareProfile with_derived_rates(HardwareProfile profile, RatesFrom from,
                                   const std::vector<HardwareProfile>& others) {
  if (capability_of(profile) <= 0) return profile;
  if (from == RatesFrom::derived) forget_own_measurements(profile);
  if (!profile.measured) profile.measured.emplace();
  for (const RateRule& rule : rate_rules()) apply_rule(rule, profile, others);
  derive_matrix_rates(profile, others);
  derive_l2_shape(profile, others);
  profile.sources.try_emplace(derived_source, "a rule of tilescope (docs/model.md, derived rates)");
  return profile;
}

HardwareProfile ProfileCatalogue::complete(HardwareProfile profile, RatesFrom from) {
  if (from == RatesFrom::derived || !lacking_entries(profile).empty()) {
    if (all_.empty()) all_ = list_profiles(directory_);
    profile = with_derived_rates(std::move(profile), from, all_);
  }
  apply_rate_changes(profile);
  return profile;
}

HardwareProfile ProfileCatalogue::find(const std::string& id_or_file, RatesFrom from) {
  static FileCache<HardwareProfile> kept;  // of shipped profiles
  const std::string id = name_and_changes(id_or_file).first;
  const std::filesystem::path file = directory_ / (id + ".yaml");
  std::error_code ignored;
  if (id.find('/') != std::string::npos || id.ends_with(".yaml") || !std::filesystem::exists(file, ignored))
    return complete(find_profile(id_or_file, directory_), from);
  return *kept.get(fmt::format("{}\n{}\n{}", directory_.string(), id_or_file, to_string(from)), {file},
                   [&] { return complete(find_profile(id_or_file, directory_), from); });
}

namespace {

// Rules that are no row of the table: of matrix instructions and of the L2's shape.
const std::vector<std::pair<DerivedRule, bool (*)(const HardwareProfile&)>>& other_rules() {
  using P = HardwareProfile;
  static const std::vector<std::pair<DerivedRule, bool (*)(const P&)>> rules{
      {{"measured.tensor.mma", "FLOP of m16n8k16 over the rate of a sub-partition (compute.tensor, mma.sync)", ""},
       [](const P& p) { return has_matrix_rule(p) && (!p.measured || p.measured->tensor.mma.empty()); }},
      {{"measured.tensor.mma_latency", "tensor.mma + the nearest measured GPU's latency beyond its interval", ""},
       [](const P& p) { return has_matrix_rule(p) && (!p.measured || p.measured->tensor.mma_latency.empty()); }},
      {{"measured.tensor.wgmma_smem", "FLOP of m64nNk16 over the rate of an SM (compute.tensor)", "9.0"},
       [](const P& p) { return has_wgmma(p) && (!p.measured || p.measured->tensor.wgmma_smem.empty()); }},
      {{"measured.tensor.wgmma_register", "FLOP of m64nNk16 over the rate of an SM (compute.tensor)", "9.0"},
       [](const P& p) { return has_wgmma(p) && (!p.measured || p.measured->tensor.wgmma_register.empty()); }},
      {{"levels.l2.ways", of_nearest, ""}, [](const P& p) { return capability_of(p) > 0 && !p.l2_ways; }},
      {{"levels.l2.dirty_ways", of_nearest, ""}, [](const P& p) { return capability_of(p) > 0 && !p.l2_dirty_ways; }},
      {{"levels.l2.slices", "the nearest measured GPU's, in proportion to the L2's capacity", ""},
       [](const P& p) { return capability_of(p) > 0 && !p.l2_slices; }},
      {{"levels.l2.groups", "groups of 16 SMs, L2 partitions in turn", ""},
       [](const P& p) { return capability_of(p) > 0 && !p.l2_groups; }}};
  return rules;
}

bool is_empty(const Field& of) {
  return std::visit(
      [](const auto* field) {
        if constexpr (std::is_same_v<decltype(field), const Rates::Value*>) return !field->has_value();
        else return field->empty();
      },
      of);
}

}  // namespace

const std::vector<DerivedRule>& derived_rules() {
  static const std::vector<DerivedRule> rules = [] {
    std::vector<DerivedRule> list;
    for (const RateRule& rule : rate_rules())
      for (const char* entry : rule.entries)
        list.push_back({std::string("measured.") + entry, rule.formula, capabilities(rule)});
    for (const auto& [rule, lacking] : other_rules()) list.push_back(rule);
    return list;
  }();
  return rules;
}

std::vector<DerivedRule> lacking_entries(const HardwareProfile& profile) {
  std::vector<DerivedRule> lacking;
  const auto add = [&](DerivedRule rule) {
    const auto same = [&](const DerivedRule& other) { return other.entry == rule.entry; };
    const auto found = std::find_if(lacking.begin(), lacking.end(), same);
    if (found == lacking.end()) lacking.push_back(std::move(rule));
    else found->formula += "; else " + rule.formula;
  };
  const auto fields = profile.measured ? fields_by_path(*profile.measured) : std::map<std::string, Field>();
  for (const RateRule& rule : rate_rules()) {
    if (!rule.serves(profile)) continue;
    for (const char* entry : rule.entries)
      if (fields.empty() || is_empty(fields.at(entry)))
        add({std::string("measured.") + entry, rule.formula, capabilities(rule)});
  }
  for (const auto& [rule, is_lacking] : other_rules())
    if (is_lacking(profile)) add(rule);
  return lacking;
}

HardwareProfile without_entry(HardwareProfile profile, const std::string& entry) {
  if (entry == "levels.l2.ways") profile.l2_ways.reset();
  if (entry == "levels.l2.dirty_ways") profile.l2_dirty_ways.reset();
  if (entry == "levels.l2.slices") profile.l2_slices.reset();
  if (entry == "levels.l2.groups") profile.l2_groups.reset();
  if (!profile.measured) return profile;
  visit_measured(*profile.measured, [&](const std::string& group, const std::string& key, Dimension, auto& field) {
    if (entry == "measured." + group + "." + key) field = {};
  });
  return profile;
}

Basis basis_of(const std::string& source) {
  return source == measured_source ? Basis::measured : source == derived_source ? Basis::derived : Basis::published;
}

Basis together(Basis a, Basis b) { return a == b ? a : Basis::mixed; }

namespace {

template <class Visit>
void for_each_value(const Rates::Value& field, const Visit& visit) {
  if (field) visit(*field);
}
template <class Visit>
void for_each_value(const Sourced<double>& value, const Visit& visit) {
  visit(value);
}
template <class Key, class Inner, class Visit>
void for_each_value(const std::map<Key, Inner>& field, const Visit& visit) {
  for (const auto& [key, inner] : field) for_each_value(inner, visit);
}

}  // namespace

Basis basis_of_group(const HardwareProfile& profile, std::string_view group, std::string_view key) {
  std::optional<Basis> basis;
  const auto add = [&](const Sourced<double>& value) {
    const Basis own = basis_of(value.source);
    basis = basis ? together(*basis, own) : own;
  };
  if (profile.measured)
    visit_measured(*profile.measured,
                   [&](std::string_view its_group, std::string_view its_key, Dimension, const auto& field) {
                     if (its_group == group && (key.empty() || its_key == key)) for_each_value(field, add);
                   });
  return basis.value_or(Basis::published);
}

}  // namespace tilescope
