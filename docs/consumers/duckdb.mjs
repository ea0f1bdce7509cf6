// weft export --as parquet -o trace.parquet trace.json
// node duckdb.mjs events.sql
//
// Runs SQL with the package @duckdb/node-api, where there is no duckdb program.
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create()).connect();
const statements = await connection.extractStatements(readFileSync(process.argv[2], "utf8"));
for (let i = 0; i < statements.count; i++) {
  const result = await (await statements.prepare(i)).runAndReadAll();
  console.log(result.columnNames().join("\t"));
  for (const row of result.getRows()) console.log(row.join("\t"));
}
