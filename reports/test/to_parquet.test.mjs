// A sweep converted to Parquet: the same rows, types by the values, units in the metadata.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parquetMetadata, parquetReadObjects } from "hyparquet";

const folder = mkdtempSync(join(tmpdir(), "to-parquet-"));
after(() => rmSync(folder, { recursive: true }));
const at = (name) => join(folder, name);
const program = process.env.TILESCOPE;
const convert = (...words) => spawnSync(process.execPath, ["to_parquet.mjs", ...words], { encoding: "utf8" });

const read = async (name) => {
  const bytes = readFileSync(at(name));
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return { rows: await parquetReadObjects({ file }), metadata: parquetMetadata(file) };
};
const typeOf = ({ metadata }, column) => metadata.schema.find(({ name }) => name === column).type;

test("all columns of a sweep arrive with their values, types and units", async () => {
  const words = "sweep --axis hardware=h200_sxm,b200_sxm --axis dtype=fp16,int8:g64:b2 --axis q_len=1:3000:x7 --axis " +
    "kv_len=16,100000 --axis tile_kv=64,4096 --schedule flash2 --heads 8 --head-dim 128 --l2 closed --quiet -o";
  execFileSync(program, [...words.split(" "), at("a.csv")]);
  execFileSync(program, ["list", "columns", "--format", "json", "-o", at("columns.json")]);
  const done = convert(at("a.csv"), at("a.parquet"), at("columns.json"));
  assert.equal(done.status, 0, done.stderr);
  const [heading, ...lines] = readFileSync(at("a.csv"), "utf8").trimEnd().split("\n");
  const names = heading.split(",");
  const file = await read("a.parquet");
  assert.equal(file.rows.length, lines.length);
  assert.ok(lines.length > 60);
  assert.deepEqual(Object.keys(file.rows[0]), names);
  let infeasible = 0;
  lines.forEach((line, i) => {
    const cells = line.split(",");  // no cell of a sweep has a comma
    names.forEach((name, c) => {
      const value = file.rows[i][name], type = typeOf(file, name);
      if (cells[c] === "") return assert.ok(value === null || value === undefined, name);
      if (type === "DOUBLE") assert.equal(value, Number(cells[c]), name);
      else assert.equal(String(value), cells[c], name);
    });
    infeasible += file.rows[i].feasible === false;
  });
  assert.ok(infeasible > 0);
  assert.equal(typeOf(file, "hbm_read_bytes"), "INT64");
  assert.equal(typeOf(file, "seconds"), "DOUBLE");
  assert.equal(typeOf(file, "feasible"), "BOOLEAN");
  assert.equal(typeOf(file, "dtype"), "BYTE_ARRAY");
  const pairs = file.metadata.key_value_metadata;
  const units = Object.fromEntries(
    JSON.parse(pairs.find(({ key }) => key === "tilescope.columns").value).map(({ column, unit }) => [column, unit]));
  assert.equal(units.hbm_read_bytes, "B");
  assert.equal(units.seconds, "s");
});

test("quotes, nulls and numbers of any size arrive as they are, over several row groups", async () => {
  const lines = ['text,whole,wide,number,none'];
  for (let i = 0; i < 120_000; ++i)
    lines.push(`"a ""${i}"", b",${2n ** 62n + BigInt(i)},${2n ** 64n},${i % 3 ? 1e-7 * i : ""},`);
  lines.push('"two\nlines",-9223372036854775808,1,2.5,');
  writeFileSync(at("b.csv"), lines.join("\n") + "\n");
  assert.equal(convert(at("b.csv"), at("b.parquet")).status, 0);
  const file = await read("b.parquet");
  assert.equal(file.rows.length, 120_001);
  assert.ok(file.metadata.row_groups.length > 2);
  assert.deepEqual([file.rows[7].text, file.rows[7].whole, file.rows[7].wide, file.rows[7].number],
    ['a "7", b', 2n ** 62n + 7n, 2 ** 64, 1e-7 * 7]);
  assert.deepEqual([file.rows[120_000].text, file.rows[120_000].whole], ["two\nlines", -(2n ** 63n)]);
  assert.ok(file.rows[6].number === null || file.rows[6].number === undefined);
});

test("a file that is no table is refused, and nothing is left behind", () => {
  writeFileSync(at("c.csv"), "a,b\n1,2\n3\n");
  const ragged = convert(at("c.csv"), at("c.parquet"));
  assert.equal(ragged.status, 2);
  assert.match(ragged.stderr, /c\.csv:3: expected 2 cells, found 1/);
  assert.equal(convert(at("none.csv"), at("c.parquet")).status, 2);
  assert.ok(!readdirSync(folder).some((name) => name.startsWith(".parquet-") || name === "c.parquet"));
});
