// A CSV file of `tilescope sweep` as Parquet: types by the values, units and meanings in the file's metadata.
//   node reports/to_parquet.mjs sweep.csv sweep.parquet [columns.json]
// columns.json is what `tilescope list columns --format json` prints. Memory does not grow with the rows.
import { createReadStream, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const rowsAtOnce = 50_000;
const [input, output, columnsFile] = process.argv.slice(2);

function refuse(message) {
  console.error(`to_parquet: ${message}`);
  process.exit(2);
}

// Cells of a line; null: a quote is still open, the cell goes on in the next line.
function cellsOf(line) {
  if (!line.includes('"')) return line.split(",");
  const cells = [];
  let cell = "", quoted = false;
  for (let i = 0; i < line.length; ++i) {
    const c = line[i];
    if (quoted && c === '"' && line[i + 1] === '"') cell += '"', ++i;
    else if (c === '"') quoted = !quoted;
    else if (c === "," && !quoted) cells.push(cell), cell = "";
    else cell += c;
  }
  cells.push(cell);
  return quoted ? null : cells;
}

// Calls visit(cells, line number) for each row, the heading first.
async function eachRow(file, visit) {
  let open = "", number = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    ++number;
    const cells = cellsOf(open + line);
    open = cells ? "" : `${open}${line}\n`;
    if (cells) visit(cells, number);
  }
  if (open) refuse(`${file}:${number}: a quote is not closed`);
}

const largest = 2n ** 63n - 1n;
const isWhole = (text) => /^-?\d+$/.test(text) && (text.length < 19 || (BigInt(text) <= largest && BigInt(text) >= -largest - 1n));
const isNumber = (text) => /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text);
const isBoolean = (text) => text === "true" || text === "false";

// The narrowest type that holds all values so far. Empty cells are nulls.
const kinds = [
  { type: "BOOLEAN", holds: isBoolean, read: (text) => text === "true" },
  { type: "INT64", holds: isWhole, read: BigInt },
  { type: "DOUBLE", holds: isNumber, read: Number },
  { type: "STRING", holds: () => true, read: (text) => text },
];

async function typesOf(file) {
  let names = null;
  const held = [];  // by column: for each kind, whether it holds all values
  let rows = 0;
  await eachRow(file, (cells, number) => {
    if (!names) {
      names = cells;
      for (let c = 0; c < names.length; ++c) held.push(kinds.map(() => true)), (held[c].any = false);
      return;
    }
    if (cells.length !== names.length)
      refuse(`${file}:${number}: expected ${names.length} cells, found ${cells.length}`);
    ++rows;
    cells.forEach((cell, c) => {
      if (cell === "") return;
      held[c].any = true;
      for (let k = 0; k < kinds.length - 1; ++k) held[c][k] &&= kinds[k].holds(cell);
    });
  });
  if (!names) refuse(`${file}: is empty; expected the CSV file of a sweep`);
  const columns = names.map((name, c) => ({ name, ...kinds[held[c].any ? held[c].indexOf(true) : kinds.length - 1] }));
  return { columns, rows };
}

function described(columns) {
  if (!columnsFile) return [];
  const listed = JSON.parse(readFileSync(columnsFile, "utf8"));
  return columns.flatMap(({ name }) => {
    const found = listed.find((row) => row.column === name && row["printed by"].includes("sweep"));
    return found ? [{ column: name, unit: found.unit, meaning: found.meaning }] : [];
  });
}

if (!input || !output) refuse("usage: node to_parquet.mjs SWEEP.csv SWEEP.parquet [COLUMNS.json]");
for (const file of [input, ...(columnsFile ? [columnsFile] : [])])
  if (!existsSync(file)) refuse(`there is no file ${file}`);
const parquet = await import("hyparquet-writer").catch(() =>
  refuse("needs the package hyparquet-writer; 'npm ci' in the folder reports/ installs it"));

const { columns, rows } = await typesOf(input);
const folder = mkdtempSync(join(dirname(output), ".parquet-"));  // the file appears under its name when it is complete
const part = join(folder, "part");
try {
  const empty = columns.map(({ name, type }) => ({ name, type, data: [] }));
  const writer = new parquet.ParquetWriter({
    writer: parquet.fileWriter(part),
    schema: parquet.schemaFromColumnData({ columnData: empty }),
    kvMetadata: [{ key: "tilescope.columns", value: JSON.stringify(described(columns)) }],
    createdBy: "tilescope",
  });
  let batch = columns.map(() => []);
  const flush = () => {
    if (batch[0].length === 0) return;
    writer.write({ columnData: columns.map(({ name }, c) => ({ name, data: batch[c] })), rowGroupSize: rowsAtOnce });
    batch = columns.map(() => []);
  };
  let heading = true;
  await eachRow(input, (cells) => {
    if (heading) return void (heading = false);
    cells.forEach((cell, c) => batch[c].push(cell === "" ? null : columns[c].read(cell)));
    if (batch[0].length === rowsAtOnce) flush();
  });
  flush();
  writer.finish();
  renameSync(part, output);
} catch (error) {
  console.error(`to_parquet: ${output}: ${error.message}`);
  process.exitCode = 2;
} finally {
  rmSync(folder, { recursive: true });
}
if (!process.exitCode) console.log(`${output}: ${rows} rows, ${columns.length} columns`);
