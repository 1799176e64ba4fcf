// An answer as CSV, with the ends of its intervals. NULL is an empty cell, and an empty text is "".
import type { Column, Row } from "./api";
import { end } from "./format";

// A spreadsheet computes a cell that begins with one of =+-@. Text is kept from that by an apostrophe before it.
// Where numbers have a decimal comma, a semicolon ends a cell, and quotes within a cell mean nothing. So what follows a semicolon, a tab or a line's end may be a cell too.
const formula = /(^|[;\t\r\n])(?=[" ]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g;

// A plain number is no formula, and stays a number.
const plain = /^-?\d+(\.\d*)?(e[+-]?\d+)?$/i;

function cell(text: string): string {
  if (!plain.test(text)) text = text.replace(formula, "$1'");
  return text === "" || /[",;\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

export function csv(columns: Column[], rows: Row[]): string {
  const has = columns.map((_, i) => rows.some((r) => r.intervals[i]?.low !== undefined || r.intervals[i]?.high !== undefined));
  const lines = [columns.flatMap((c, i) => [c.name, ...(has[i] ? [c.name + "_low", c.name + "_high"] : [])]).map((name) => cell(name))];
  for (const r of rows) {
    lines.push(
      columns.flatMap((c, i) => {
        const v = r.values[i];
        const ends = has[i] ? [r.intervals[i]?.low, r.intervals[i]?.high].map((x) => (x === undefined ? "" : cell(end(x, c.kind)))) : [];
        return [v === null ? "" : cell(v), ...ends];
      }),
    );
  }
  return lines.map((l) => l.join(",") + "\r\n").join("");
}
