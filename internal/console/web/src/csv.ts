// An answer as CSV, with the ends of its intervals. NULL is an empty cell, and an empty text is "".
import type { Column, Row } from "./api";
import { end } from "./format";

// A spreadsheet computes a cell that begins with one of =+-@. Text is kept from that by an apostrophe before it.
// Where numbers have a decimal comma, a semicolon ends a cell, and quotes within a cell mean nothing. So what follows a semicolon, a tab or a line's end may be a cell too.
const formula = /(^|[;\t\r\n])(?=[" ]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g;

function cell(text: string, guarded: boolean): string {
  if (guarded) text = text.replace(formula, "$1'");
  return text === "" || /[",;\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

export function csv(columns: Column[], rows: Row[]): string {
  const has = columns.map((_, i) => rows.some((r) => r.intervals[i]?.low !== undefined || r.intervals[i]?.high !== undefined));
  const lines = [columns.flatMap((c, i) => [c.name, ...(has[i] ? [c.name + "_low", c.name + "_high"] : [])]).map((name) => cell(name, true))];
  for (const r of rows) {
    lines.push(
      columns.flatMap((c, i) => {
        const v = r.values[i];
        const own = v === null ? "" : cell(v, c.kind !== "number" || !/^-?[0-9.]+(e[+-]?[0-9]+)?$/i.test(v));
        return has[i] ? [own, end(r.intervals[i]?.low, c.kind), end(r.intervals[i]?.high, c.kind)] : [own];
      }),
    );
  }
  return lines.map((l) => l.join(",") + "\r\n").join("");
}
