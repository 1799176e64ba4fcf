// Which columns of an answer are numbers to draw, and which tell its rows apart.
import type { Column, Row } from "./api";

// measures are the columns with intervals. Without any (a public table, a setting) it is the last number that is not the first column.
export function measures(columns: Column[], rows: Row[]): number[] {
  const numbers = columns.map((_, i) => i).filter((i) => columns[i].kind === "number");
  const found = numbers.filter((i) => rows.some((r) => r.intervals[i]));
  return found.length > 0 ? found : numbers.filter((i) => i > 0).slice(-1);
}
