// Which columns of an answer are numbers to draw, and which tell its rows apart.
import type { Column, Row } from "./api";

// measures are the columns with intervals. Without any (a public table, a setting) it is the last number that is not the first column.
export function measures(columns: Column[], rows: Row[]): number[] {
  const numbers = columns.map((_, i) => i).filter((i) => columns[i].kind === "number" && !columns[i].part);
  const found = numbers.filter((i) => rows.some((r) => r.intervals[i]));
  return found.length > 0 ? found : numbers.filter((i) => i > 0 && !columns[i].constant).slice(-1);
}

// keys are the columns that tell rows apart: no measure, no part of an interval, and no constant.
export function keys(columns: Column[], rows: Row[]): number[] {
  const drawn = measures(columns, rows);
  return columns.map((_, i) => i).filter((i) => !drawn.includes(i) && !columns[i].part && !columns[i].constant);
}

// A chart has no more bars, points and lines than it can show.
const mostBars = 200;
const mostPoints = 5000;
const mostLines = 12;

// noChart is why an answer has no chart; "" where it has one.
export function noChart(columns: Column[], rows: Row[], measure: number | undefined): string {
  if (rows.length === 0) return "There is no chart, as there are no rows.";
  if (measure === undefined) return "There is no chart, as no column has numbers to draw.";
  if (!rows.some((r) => r.values[measure] !== null && Number.isFinite(Number(r.values[measure])))) return `There is no chart, as ${columns[measure].name} is NULL in all rows.`;
  const by = keys(columns, rows);
  const time = by.find((i) => columns[i].kind === "time");
  if (time === undefined) return rows.length > mostBars ? `There is no chart, as it would have ${rows.length} bars. It has ${mostBars} at most.` : "";
  const lines = new Set(rows.map((r) => JSON.stringify(by.filter((i) => i !== time).map((i) => r.values[i])))).size;
  if (lines > mostLines) return `There is no chart, as it would have ${lines} lines. It has ${mostLines} at most.`;
  return rows.length > mostPoints ? `There is no chart, as it would have ${rows.length} points. It has ${mostPoints} at most.` : "";
}
