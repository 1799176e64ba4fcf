// Charts of an answer, with its intervals: bars with error bars, or lines with ribbons. Loaded when the first is shown.
import * as Plot from "@observablehq/plot";
import type { Column, Row } from "./api";
import { axes, place, steps } from "./axes";
import { labels } from "./columns";
import { between, number, units } from "./format";

interface Point {
  at: string | number | Date;
  step: number; // of time; all 0: none is missing
  facet?: string;
  value: number;
  low: number; // NaN: not known, or there is no interval
  high: number;
  title: string;
}

const isKnown = (p: Point) => Number.isFinite(p.low) && Number.isFinite(p.high);
const isOpen = (p: Point) => Number.isFinite(p.low) !== Number.isFinite(p.high);

// linesOf are the points of each line. Where steps of time are missing, as their groups were not released, a point without a value ends its line and ribbon.
function linesOf(points: Point[]): Point[][] {
  const lines = new Map<string | undefined, Point[]>();
  for (const p of [...points].sort((a, b) => Number(a.at) - Number(b.at))) {
    const line = lines.get(p.facet) ?? [];
    const last = line[line.length - 1];
    if (last && p.step - last.step > 1) line.push({ ...p, at: new Date((Number(last.at) + Number(p.at)) / 2), value: NaN, low: NaN, high: NaN });
    lines.set(p.facet, [...line, p]);
  }
  return [...lines.values()];
}

// alone are the points of lines whose interval is no part of a ribbon, as those beside them have none.
const alone = (lines: Point[][]) => lines.flatMap((line) => line.filter((p, i) => isKnown(p) && ![line[i - 1], line[i + 1]].some((q) => q && isKnown(q))));

// An axis has about so many pixels for a letter, and for a bar.
const letter = 7;
const bar = 22;
const longestLabel = 36;
const nameHeight = 15 / 270; // of the chart's height
const cut = (text: string) => (text.length > longestLabel ? text.slice(0, longestLabel - 1) + "…" : text);

// draw makes the chart of one column.
export function draw(columns: Column[], rows: Row[], of: number, width: number): SVGSVGElement | HTMLElement {
  const by = axes(columns, rows);
  const { name, kind } = columns[of];
  const isLine = by.along !== "labels";
  const largest = Math.max(...rows.map((r) => Math.abs(number(r.values[of]))).filter(Number.isFinite));
  const [unit, seconds] = kind === "duration" ? (units.find(([, s]) => largest >= 2 * s) ?? units[units.length - 1]) : ["", 1];
  const placed = rows.filter((r) => place(r, by, name) !== undefined);
  const isReleased = rows.some((r) => r.intervals[of]);
  const at = by.along === "times" && isReleased ? steps(placed.map((r) => r.values[by.key!]!)) : [];
  const points = placed.map((r, i): Point => {
    const interval = r.intervals[of];
    const facet = by.others.length > 0 ? labels(r, by.others) : undefined;
    const range = interval ? between(interval, kind) || "interval not known" : "";
    const title = `${by.key === undefined ? "" : labels(r, [by.key]) + (facet ? ", " + facet : "") + ": "}${r.values[of] ?? "NULL"}${range && ` (${range})`}`;
    return { at: place(r, by, name)!, step: at[i] ?? 0, facet, value: number(r.values[of]) / seconds, low: (interval?.low ?? NaN) / seconds, high: (interval?.high ?? NaN) / seconds, title };
  });
  const lines = isLine ? linesOf(points) : [];
  const known = points.filter(isKnown);
  const facets = new Set(points.map((p) => p.facet)).size;
  const series = facets > 1 && by.along === "times"; // lines over time are compared in one picture, other charts stand below each other
  const below = facets > 1 && !series;
  const inFacets = below ? { fy: "facet" } : {};
  const fill = "var(--accent, #1f5fbf)";
  const colour = series ? { z: "facet" } : {};

  // An interval without an end goes on to the edge.
  const ends = [...points.flatMap((p) => [p.value, p.low, p.high]).filter(Number.isFinite), ...(isLine ? [] : [0])];
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const room = 0.1 * (most - least || Math.abs(most) || 1);
  const open = points.filter(isOpen).map((p) => (Number.isFinite(p.low) ? { ...p, from: p.low, to: most + room } : { ...p, from: p.high, to: least - room }));

  // The name of a line stands at the right edge, as near to its end as the other names leave room.
  const names = (series ? lines : []).flatMap((line) => line.filter((p) => Number.isFinite(p.value)).slice(-1)).sort((a, b) => a.value - b.value);
  const right = new Date(Math.max(...points.map((p) => Number(p.at))));
  names.forEach((p, i) => (names[i] = { ...p, at: right, value: Math.max(p.value, i > 0 ? names[i - 1].value + (most - least) * nameHeight : -Infinity) }));

  // Labels that do not fit beside each other stand below each other.
  const all = isLine ? [] : [...new Set(points.map((p) => p.at as string))];
  const longest = Math.min(longestLabel, Math.max(0, ...all.map((l) => l.length))) * letter;
  const lying = !isLine && (longest + letter) * all.length > width - 90;
  const error = { stroke: "currentColor", strokeWidth: 1.5, title: "title", ...inFacets };
  const openEnd = { ...error, strokeDasharray: "4,3", className: "open", markerStart: "tick", markerEnd: "arrow" } as const;
  const bars = points.filter((p) => Number.isFinite(p.value));
  const look = { fill, fillOpacity: 0.55, title: "title", className: "bar", ...inFacets };
  const marks: Plot.Markish[] = isLine
    ? [
        ...(known.length > 0 ? [Plot.areaY(lines.flat(), { x: "at", y1: "low", y2: "high", fill: series ? "facet" : fill, fillOpacity: 0.25, sort: "at", className: "ribbon", ...colour, ...inFacets })] : []),
        Plot.ruleX(alone(lines), { x: "at", y1: "low", y2: "high", marker: "tick", ...error, stroke: series ? "facet" : fill, className: "interval" }),
        Plot.ruleX(open, { x: "at", y1: "from", y2: "to", ...openEnd }),
        Plot.lineY(lines.flat(), { x: "at", y: "value", stroke: series ? "facet" : fill, sort: "at", className: "line", ...colour, ...inFacets }),
        Plot.dot(points, { x: "at", y: "value", fill: series ? "facet" : fill, r: 2, title: "title", ...inFacets }),
        ...(series ? [Plot.dot(names, { x: "at", y: "value", fill: "facet", r: 4, dx: 10 }), Plot.text(names, { x: "at", y: "value", text: "facet", textAnchor: "start", dx: 18, fill: "currentColor", className: "names" })] : []),
      ]
    : lying
      ? [
          Plot.barX(bars, { y: "at", x: "value", ...look }),
          Plot.ruleY(known, { y: "at", x1: "low", x2: "high", marker: "tick", className: "interval", ...error }),
          Plot.ruleY(open, { y: "at", x1: "from", x2: "to", ...openEnd }),
          Plot.ruleX([0]),
        ]
      : [
          Plot.barY(bars, { x: "at", y: "value", ...look }),
          Plot.ruleX(known, { x: "at", y1: "low", y2: "high", marker: "tick", className: "interval", ...error }),
          Plot.ruleX(open, { x: "at", y1: "from", y2: "to", ...openEnd }),
          Plot.ruleY([0]),
        ];
  const keyName = by.key === undefined ? null : columns[by.key].name;
  const along = { label: keyName, ...(by.along === "times" ? { type: "utc" as const } : isLine ? { tickFormat: String } : { type: "band" as const, padding: 0.25, domain: all, tickFormat: cut }) };
  const value = { label: unit ? `${name}, ${unit}` : name, grid: true, zero: !isLine, tickFormat: String };
  const chart = Plot.plot({
    width,
    height: lying ? Math.max(160, (below ? facets : 1) * all.length * bar + 80) : below ? Math.max(320, facets * 140) : 320,
    marginLeft: lying ? Math.max(70, longest + 20) : 70,
    marginRight: facets > 1 ? 110 : 20,
    marginBottom: 50,
    style: { background: "transparent", color: "inherit", fontSize: "12px" },
    ariaLabel: `${name}${keyName === null ? "" : " by " + keyName}`,
    ariaDescription: `${known.length === 0 ? "" : known.length === rows.length && bars.length === rows.length ? "Each value is drawn with its 95% interval. " : "Values are drawn with their 95% interval where it is known. "}The table has the same numbers.`,
    x: { ...(lying ? value : along), labelOffset: 40 },
    y: lying ? along : value,
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
