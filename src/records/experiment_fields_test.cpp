// Tests an experiment with every key and one error at a time against the exact finding.
#include <doctest/doctest.h>

#include <string>

#include "base/text.h"
#include "config/field_mutations.h"
#include "diagram/mask.h"
#include "records/experiment.h"

namespace experiment_fields_test {

using namespace tilescope;
using namespace tilescope::mutation;

namespace {

Probe everything() {
  const std::string text = R"(schema: tilescope/experiment/1
name: every_key
hardware: h200_sxm
repeats: {cold: 3, steady: 5}
points:
  - kernel: fused_mma
    tiles: [{q: 128, kv: 64, warps: 4, stages: 2}]
    dtype: [fp16]
    batch: [1]
    heads_q: [16]
    heads_kv: [4]
    q_len: [1024]
    kv_len: [2048]
    head_dim: [128]
    v_head_dim: [64]
    mask: [causal]
    dtypes: {kv: fp8_e4m3}
    splits: [4]
tolerances:
  - quantity: traffic
    kernel: fused_mma
    level: hbm
    direction: read
    when: {mask: causal, dtype: fp16, head_dim: 128, q_len_min: 1, q_len_max: 2, kv_len_min: 3, kv_len_max: 4,
        spills: false, kv_in_l2: true}
    tolerance: 0.03
    slack: 4096
    reason: why
)";
  return Probe(tree_of("", Document::parse(text, "e.yaml").root()),
               [](const std::filesystem::path& file) { validate::load_experiment(file); });
}

const std::string length = "a count such as 4096 or 4k from 1 to 1099511627776";

}  // namespace

TEST_CASE("each wrong, missing, duplicate or misspelt field of an experiment gives one finding at its place") {
  check_fields(everything(),
               {{"schema", "'tilescope/experiment/1'"},
                {"name", "text"},
                {"hardware", "text"},
                {"blind", "true or false", Need::optional},
                {"repeats", "a map", Need::optional},
                {"repeats.*", "an integer from 1 to 1000", Need::optional},
                {"points", "a list", Need::optional},
                {"points[*]", "a map"},
                {"points[*].kernel", "text"},
                {"points[*].tiles", "a list", Need::optional},
                {"points[*].tiles[*]", "a map"},
                {"points[*].tiles[*].q", length},
                {"points[*].tiles[*].kv", length},
                {"points[*].tiles[*].warps", "an integer from 1 to 64"},
                {"points[*].tiles[*].stages", "an integer from 1 to 64", Need::optional},
                {"points[*].dtype", "a list"},
                {"points[*].dtype[*]", "one of fp16, bf16, fp32"},
                {"points[*].batch", "a list"},
                {"points[*].batch[*]", length},
                {"points[*].heads_q", "a list"},
                {"points[*].heads_q[*]", length},
                {"points[*].heads_kv", "a list", Need::optional},
                {"points[*].heads_kv[*]", length},
                {"points[*].q_len", "a list"},
                {"points[*].q_len[*]", length},
                {"points[*].kv_len", "a list", Need::optional},
                {"points[*].kv_len[*]", length},
                {"points[*].head_dim", "a list"},
                {"points[*].head_dim[*]", length},
                {"points[*].v_head_dim", "a list", Need::optional},
                {"points[*].v_head_dim[*]", length},
                {"points[*].mask", "a list"},
                {"points[*].mask[*]", "text"},
                {"points[*].dtypes", "a map", Need::optional},
                {"points[*].dtypes.*", "text", Need::free},
                {"points[*].splits", "a list", Need::optional},
                {"points[*].splits[*]", length},
                {"tolerances", "a list", Need::optional},
                {"tolerances[*]", "a map"},
                {"tolerances[*].quantity", "text"},
                {"tolerances[*].kernel", "text", Need::optional},
                {"tolerances[*].level", "one of hbm, llc, l2, smem, tmem, register", Need::optional},
                {"tolerances[*].direction", "one of read, write", Need::optional},
                {"tolerances[*].when", "a map", Need::optional},
                {"tolerances[*].when.mask", "one of " + join(kind_names<MaskKind>(), ", "), Need::optional},
                {"tolerances[*].when.dtype", "one of fp16, bf16, fp32", Need::optional},
                {"tolerances[*].when.spills", "true or false", Need::optional},
                {"tolerances[*].when.kv_in_l2", "true or false", Need::optional},
                {"tolerances[*].when.*", length, Need::optional},
                {"tolerances[*].tolerance", "a number from 0 to 100"},
                {"tolerances[*].slack", "a number from 0 to 1000000000000000", Need::optional},
                {"tolerances[*].reason", "text"}});
}

TEST_CASE("masks and formats of an experiment must exist") {
  CHECK(everything()
            .findings(Mutation{"points[0].mask[0]", Change::replace, "diagonal"})
            .find("expected " + mask_spellings() + ", found 'diagonal'") != std::string::npos);
  CHECK(everything()
            .findings(Mutation{"points[0].dtypes.kv", Change::replace, "fp12"})
            .find("'fp12' is not a dtype; known: fp32") != std::string::npos);
  CHECK(everything().findings(Mutation{"points[0].mask[0]", Change::replace, "window:64"}) == "");
}

TEST_CASE("the word 'report' is a valid tolerance") {
  CHECK(everything().findings(Mutation{"tolerances[0].tolerance", Change::replace, "report"}) == "");
}

}  // namespace experiment_fields_test
