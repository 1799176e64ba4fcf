// Where the rows of an answer stand in its chart, and why some have no place in it.
import type { Column, Interval, Row } from "./api";
import { keys, labels } from "./columns";
import { between, number, time } from "./format";

// More numbers than these are a line, not bars.
const mostNumberBars = 20;

// A chart has no more bars, points and lines than it can show.
const mostBars = 200;
const mostPoints = 5000;
const mostLines = 12;

interface Axes {
  key?: number; // the column along the axis; none: there is one row
  others: number[]; // the keys that make several charts, or lines, of it
  along: "labels" | "numbers" | "times";
}

export function axes(columns: Column[], rows: Row[]): Axes {
  const all = keys(columns, rows);
  const key = all.find((i) => columns[i].kind === "time") ?? all[all.length - 1];
  const kind = key === undefined ? "text" : columns[key].kind;
  return { key, others: all.filter((i) => i !== key), along: kind === "time" ? "times" : kind === "number" && rows.length > mostNumberBars ? "numbers" : "labels" };
}

// place is where a row stands along the axis; undefined where the axis has no such place, as of NULL or infinity.
export function place(row: Row, of: Axes, name: string): string | number | Date | undefined {
  if (of.key === undefined) return name;
  const text = row.values[of.key];
  if (of.along === "labels") return labels(row, [of.key]);
  const at = of.along === "times" ? time(text) : number(text);
  return Number.isFinite(Number(at)) ? at : undefined;
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

// steps are how many steps each of some times is from the first. A step is the largest that all are apart by: in months where all begin one, else in days where all begin one, so that summer time is no other step.
export function steps(times: string[]): number[] {
  const parts = times.map((t) => t.split(" "));
  const days = parts.every(([, clock]) => !clock || /^00:00:00(?!\.)/.test(clock));
  const months = days && parts.every(([day]) => day.endsWith("-01"));
  const at = parts.map(([day], i) => (months ? Number(day.slice(0, -6)) * 12 + Number(day.slice(-5, -3)) : Number(time(days ? day : times[i]))));
  const step = at.reduce((s, x) => divisor(s, Math.abs(x - at[0])), 0) || 1;
  return at.map((x) => (x - at[0]) / step);
}

// noChart is why an answer has no chart; "" where it has one.
export function noChart(columns: Column[], rows: Row[], value: number | undefined): string {
  const none = (why: string) => "There is no chart, as " + why + ".";
  if (rows.length === 0) return none("there are no rows");
  if (value === undefined) return none(columns.some((c) => c.kind === "number" && !c.constant) ? "the only numbers are in the first column" : "no column has numbers to draw");
  if (!rows.some((r) => Number.isFinite(number(r.values[value])))) return none(`${columns[value].name} is ${rows.some((r) => r.values[value] !== null) ? "no finite number" : "NULL"} in all rows`);
  const of = axes(columns, rows);
  const all = keys(columns, rows);
  const names = all.map((i) => columns[i].name).join(" and ");
  if (all.length === 0 && rows.length > 1) return none("no column tells the rows apart");
  if (new Set(rows.map((r) => JSON.stringify([labels(r, of.others), of.key === undefined ? "" : labels(r, [of.key])]))).size < rows.length) return none(`several rows have the same ${names}`);
  const tooMany = (n: number, what: string, most: number) => (n > most ? none(`it would have ${n} ${what}. It has ${most} at most`) : "");
  if (of.along === "labels") return tooMany(rows.length, "bars", mostBars);
  if (!rows.some((r) => place(r, of, "") !== undefined)) return none(`no ${columns[of.key!].name} has a place on an axis`);
  return tooMany(new Set(rows.map((r) => labels(r, of.others))).size, "lines", mostLines) || tooMany(rows.length, "points", mostPoints);
}

const range = (of: Interval | undefined, kind: Column["kind"]) => (of && between(of, kind) ? ` (${between(of, kind)})` : "");

// beside says what a chart does not show: what it lacks that the table has, and what its intervals promise together.
export function beside(columns: Column[], rows: Row[], value: number): string[] {
  const of = axes(columns, rows);
  const said: string[] = [];
  const name = columns[value].name;
  const lost = rows.filter((r) => place(r, of, name) === undefined);
  const all = [...of.others, of.key!].sort((a, b) => a - b);
  const named = lost.slice(0, 3).map((r) => `${labels(r, all)}: ${r.values[value] ?? "NULL"}${range(r.intervals[value], columns[value].kind)}`).join("; ");
  if (lost.length > 0) said.push(`Not on the axis of ${columns[of.key!].name}: ${named}${lost.length > 3 ? `; and ${lost.length - 3} more` : ""}.`);
  const nulls = rows.filter((r) => r.values[value] === null).length;
  if (nulls > 0) said.push(`${name} is NULL in ${nulls === 1 ? "one row" : nulls + " rows"}.`);
  for (const why of new Set(rows.map((r) => r.intervals[value]?.unknown).filter((w) => w))) said.push(`The interval of ${name} is not known: ${why}.`);
  if (rows.some((r) => r.intervals[value]?.at_once)) said.push(`The intervals of ${name} hold in all rows at once with 95 %.`);
  return said;
}
