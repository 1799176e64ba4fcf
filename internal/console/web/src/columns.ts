// Which columns of an answer are values to draw, and which tell its rows apart.
import type { Column, Row } from "./api";

// isPart says whether a column is dp_error, dp_low or dp_high itself.
const isPart = (rows: Row[], i: number) => rows.some((r) => r.intervals[i]?.part);

// valueColumns are the noisy numbers. Without any (a public table, a setting) it is the last number that is not the first column.
export function valueColumns(columns: Column[], rows: Row[]): number[] {
  const numbers = columns.map((_, i) => i).filter((i) => (columns[i].kind === "number" || columns[i].kind === "duration") && !isPart(rows, i));
  const noisy = numbers.filter((i) => rows.some((r) => r.intervals[i]));
  return noisy.length > 0 ? noisy : numbers.filter((i) => i > 0 && !columns[i].constant).slice(-1);
}

// firstValue is the column that is drawn at first: one that has intervals, if there is one.
export const firstValue = (list: number[], rows: Row[]) => list.find((i) => rows.some((r) => r.intervals[i]?.low !== undefined || r.intervals[i]?.high !== undefined)) ?? list[0];

// label is a key's value as a chart has it. NULL and the text NULL are not the same.
const label = (text: string | null) => (text === null ? "NULL" : text === "NULL" ? "'NULL'" : text);

export const labels = (r: Row, of: number[]) => of.map((i) => label(r.values[i])).join(", ");

// repeated says whether rows have the same values in some columns.
const repeated = (rows: Row[], of: number[]) => new Set(rows.map((r) => JSON.stringify(of.map((i) => r.values[i])))).size < rows.length;

// keys are the columns that tell rows apart: nothing noisy, no part of an interval, and no constant. A number without which the other keys do as well is none.
export function keys(columns: Column[], rows: Row[]): number[] {
  const values = valueColumns(columns, rows);
  let found = columns.map((_, i) => i).filter((i) => !values.includes(i) && !rows.some((r) => r.intervals[i]) && !columns[i].constant);
  for (const i of [...found].reverse()) {
    const others = found.filter((k) => k !== i);
    if (columns[i].kind === "number" && others.length > 0 && !repeated(rows, others)) found = others;
  }
  return found;
}
