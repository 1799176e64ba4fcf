// An answer as CSV, with the ends of its intervals.
import type { Column, Row } from "./api";

// A spreadsheet computes a cell that begins with one of these. Text is kept from that by an apostrophe before it.
const formula = /^[=+\-@\t\r\n＝＋－＠]/;

function cell(text: string, guarded: boolean): string {
  if (guarded && formula.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

export function csv(columns: Column[], rows: Row[]): string {
  const has = columns.map((_, i) => rows.some((r) => r.intervals[i]));
  const lines = [columns.flatMap((c, i) => [c.name, ...(has[i] ? [c.name + "_low", c.name + "_high"] : [])]).map((name) => cell(name, true))];
  for (const r of rows) {
    lines.push(
      columns.flatMap((c, i) => {
        const v = r.values[i];
        const own = v === null ? "" : cell(v, c.kind !== "number" || !/^-?[0-9.]+(e[+-]?[0-9]+)?$/i.test(v));
        return has[i] ? [own, String(r.intervals[i]?.low ?? ""), String(r.intervals[i]?.high ?? "")] : [own];
      }),
    );
  }
  return lines.map((l) => l.join(",") + "\r\n").join("");
}
