// Charts of an answer, with its intervals: bars with error bars, or a line with a ribbon over time. Loaded when the first is shown.
import * as Plot from "@observablehq/plot";
import type { Column, Interval, Row } from "./api";
import { keys } from "./columns";

interface Point {
  x: string | number | Date;
  facet?: string;
  y: number;
  low: number;
  high: number;
}

// number is NaN where there is none to draw.
function number(text: string | null): number {
  const x = text === null ? NaN : Number(text);
  return Number.isFinite(x) ? x : NaN;
}

// time reads a date or a timestamp as PostgreSQL writes it; one without a zone is read as UTC.
function time(text: string | null): Date {
  const m = (text ?? "").match(/^(\d{4,}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d(?::\d\d)?)?)?$/);
  if (!m) return new Date(NaN);
  const zone = m[3] === undefined ? "Z" : m[3].length === 3 ? m[3] + ":00" : m[3];
  return new Date(`${m[1]}T${m[2] ?? "00:00:00"}${zone}`);
}

// isExact: a number without an interval, as of a synthetic or a public table, has none to draw.
const isExact = (i: Interval | undefined) => !i || (i.low !== undefined && i.low === i.high);

// draw makes the chart of one measure.
export function draw(columns: Column[], rows: Row[], measure: number, width: number): SVGSVGElement | HTMLElement {
  const all = keys(columns, rows);
  const key = all.find((i) => columns[i].kind === "time") ?? all[all.length - 1];
  const others = all.filter((i) => i !== key);
  const byTime = key !== undefined && columns[key].kind === "time";
  const scale = key !== undefined && columns[key].kind === "number" && rows.length > 20;
  const x = (r: Row) => (key === undefined ? columns[measure].name : byTime ? time(r.values[key]) : scale ? Number(r.values[key]) : (r.values[key] ?? "NULL"));
  const facet = others.length > 0 ? (r: Row) => others.map((k) => r.values[k] ?? "NULL").join(", ") : () => undefined;
  const points = rows.map((r): Point => {
    const y = number(r.values[measure]);
    const interval = r.intervals[measure];
    return { x: x(r), facet: facet(r), y, ...(isExact(interval) ? { low: NaN, high: NaN } : { low: interval!.low ?? NaN, high: interval!.high ?? NaN }) };
  }).filter((p) => typeof p.x === "string" || Number.isFinite(Number(p.x)));
  const known = points.filter((p) => Number.isFinite(p.low) && Number.isFinite(p.high));
  const facets = [...new Set(points.map((p) => p.facet))].length;
  const series = facets > 1 && byTime; // lines over time are compared in one picture, other charts stand below each other
  const below = facets > 1 && !series;
  const inFacets = below ? { fy: "facet" } : {};
  const title = (p: Point) => `${key === undefined ? "" : p.x instanceof Date ? p.x.toISOString().slice(0, 10) : p.x}${p.facet ? ", " + p.facet : ""}: ${Number.isFinite(p.y) ? p.y : "NULL"}${Number.isFinite(p.low) ? ` (${p.low} to ${p.high})` : ""}`;
  const fill = "var(--accent, #1f5fbf)";
  const line = byTime || scale;
  const colour = series ? { z: "facet" } : {};
  const marks: Plot.Markish[] = line
    ? [
        Plot.areaY(known, { x: "x", y1: "low", y2: "high", fill: series ? "facet" : fill, fillOpacity: 0.25, sort: "x", className: "ribbon", ...colour, ...inFacets }),
        Plot.lineY(points, { x: "x", y: "y", stroke: series ? "facet" : fill, sort: "x", className: "line", ...colour, ...inFacets }),
        Plot.dot(points, { x: "x", y: "y", fill: series ? "facet" : fill, r: 2, title, ...inFacets }),
        ...(series ? [Plot.text(points, Plot.selectLast({ x: "x", y: "y", z: "facet", text: "facet", textAnchor: "start", dx: 5, fill: "currentColor", sort: "x" }))] : []),
      ]
    : [
        Plot.barY(points.filter((p) => Number.isFinite(p.y)), { x: "x", y: "y", fill, fillOpacity: 0.55, title, className: "bar", ...inFacets }),
        Plot.ruleX(known, { x: "x", y1: "low", y2: "high", stroke: "currentColor", strokeWidth: 1.5, title, className: "interval", marker: "tick", ...inFacets }),
        Plot.ruleY([0]),
      ];
  const order = line ? {} : { domain: [...new Set(points.map((p) => p.x as string))] };
  const name = columns[measure].name;
  const chart = Plot.plot({
    width,
    height: below ? Math.max(320, facets * 140) : 320,
    marginLeft: 70,
    marginRight: facets > 1 ? 110 : 20,
    marginBottom: 45,
    style: { background: "transparent", color: "inherit", fontSize: "12px" },
    ariaLabel: `${name}${key === undefined ? "" : " by " + columns[key].name}`,
    ariaDescription: `${known.length === 0 ? "" : known.length === points.length ? "Each value is drawn with its 95% interval. " : "Values are drawn with their 95% interval where it is known. "}The table has the same numbers.`,
    x: { label: key === undefined ? null : columns[key].name, ...(byTime ? { type: "utc" } : scale ? {} : { type: "band", padding: 0.25 }), ...order },
    y: { label: name, grid: true, zero: !line },
    fy: { label: null },
    marks,
  }) as SVGSVGElement | HTMLElement;
  const whole = chart.matches("svg") ? chart : chart.querySelector("svg")!;
  for (const g of whole.querySelectorAll("g[aria-label]")) g.removeAttribute("aria-label"); // the picture has one label, and the table tells the rest
  whole.setAttribute("role", "img");
  return chart;
}

// svg is a chart as a file of its own.
export function svg(chart: Element): string {
  const copy = (chart.matches("svg") ? chart : chart.querySelector("svg")!).cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("style", "background: #fff; color: #1b1f26; font-family: sans-serif; font-size: 12px");
  return new XMLSerializer().serializeToString(copy).replaceAll("var(--accent, #1f5fbf)", "#1f5fbf");
}
