// What the analyst may ask about, as the catalog says it.
import type { Table } from "./api";

export interface SchemaTable {
  schema: string;
  name: string;
  own: string; // its name in a statement, without its schema
  sql: string; // and with it, where that is needed
  says: string;
  columns: SchemaColumn[];
}

export interface SchemaColumn {
  name: string;
  sql: string; // its name in a statement
  type: string;
  says: string;
  values: number; // of its domain that the policy lists
}

export interface Schema {
  tables: SchemaTable[];
  settings: { name: string; value: string; says: string }[];
  functions: string[];
}

export function read(columns: Table, settings: Table, functions: string[]): Schema {
  const tables = new Map<string, SchemaTable>();
  for (const [schema, name, says, column, type, about, values, inSchema, inTable, inColumn] of columns.rows.map((r) => r.map((v) => v ?? ""))) {
    const key = schema + "." + name;
    if (!tables.has(key)) tables.set(key, { schema, name, own: inTable, sql: schema === "public" ? inTable : inSchema + "." + inTable, says, columns: [] });
    tables.get(key)!.columns.push({ name: column, sql: inColumn, type, says: about, values: Number(values) });
  }
  return { functions, tables: [...tables.values()], settings: settings.rows.map(([name, value, says]) => ({ name: name ?? "", value: value ?? "", says: says ?? "" })) };
}

// literal is a value as SQL writes it.
export const literal = (value: string | null) => (value === null ? "NULL" : "'" + value.replaceAll("'", "''") + "'");

// isData says whether a table is of the data, and not dpsql's own.
export const isData = (t: SchemaTable) => t.schema !== "dpsql";

// A first statement has no more groups than these, and no more are tried.
const mostGroups = 20;
const mostExamples = 20;

// examples are first statements, the most telling first: groups of a column with listed values, and an average of another. Some may be refused.
export function examples(s: Schema): string[] {
  const grouped: string[] = [], counts: string[] = [], totals: string[] = [];
  for (const t of s.tables.filter(isData)) {
    const listed = t.columns.filter((c) => c.values > 0 && c.values <= mostGroups);
    const by = listed.find((c) => c.type === "text") ?? listed[0];
    const of = t.columns.find((c) => c.values === 0 && /^(smallint|integer|bigint|numeric|real|double)/.test(c.type) && /range /.test(c.says));
    totals.push(`SELECT count(*) FROM ${t.sql}`);
    if (by) counts.push(`SELECT ${by.sql}, count(*)\nFROM ${t.sql}\nGROUP BY ${by.sql}`);
    if (by && of) grouped.push(`SELECT ${by.sql}, count(*), avg(${of.sql})\nFROM ${t.sql}\nGROUP BY ${by.sql}`);
  }
  return [...grouped, ...counts, ...totals].slice(0, mostExamples);
}
