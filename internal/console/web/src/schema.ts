// What the analyst may ask about, as the catalog says it.
import type { Table } from "./api";

export interface SchemaTable {
  schema: string;
  name: string;
  says: string;
  columns: SchemaColumn[];
}

export interface SchemaColumn {
  name: string;
  type: string;
  says: string;
  values: number; // of its domain that the policy lists
}

export interface Schema {
  tables: SchemaTable[];
  settings: { name: string; value: string; says: string }[];
}

export function read(columns: Table, settings: Table): Schema {
  const tables = new Map<string, SchemaTable>();
  for (const [schema, name, says, column, type, about, values] of columns.rows.map((r) => r.map((v) => v ?? ""))) {
    const key = schema + "." + name;
    if (!tables.has(key)) tables.set(key, { schema, name, says, columns: [] });
    tables.get(key)!.columns.push({ name: column, type, says: about, values: Number(values) });
  }
  return { tables: [...tables.values()], settings: settings.rows.map(([name, value, says]) => ({ name: name ?? "", value: value ?? "", says: says ?? "" })) };
}

// literal is a value as SQL writes it, and quoted is a name.
export const literal = (value: string | null) => (value === null ? "NULL" : "'" + value.replaceAll("'", "''") + "'");
export const quoted = (name: string) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : '"' + name.replaceAll('"', '""') + '"');

// example is a first statement: groups of a column with published values, and an average of one with a range.
export function example(s: Schema): string {
  for (const t of s.tables.filter((t) => t.says.includes("private"))) {
    const by = t.columns.find((c) => /values /.test(c.says) && c.type === "text") ?? t.columns.find((c) => /values /.test(c.says));
    const of = t.columns.find((c) => /range /.test(c.says));
    if (by && of) return `SELECT ${quoted(by.name)}, count(*), avg(${quoted(of.name)})\nFROM ${quoted(t.name)}\nGROUP BY ${quoted(by.name)}`;
  }
  const t = s.tables.find((t) => t.says.includes("private"));
  return t ? `SELECT count(*) FROM ${quoted(t.name)}` : "SELECT * FROM dpsql.budget";
}
