// The chart of the budget over time. Loaded when it is shown.
import * as Plot from "@observablehq/plot";
import type { OverTime } from "./owner-api";

// As many colours as can be told apart in light and dark; more analysts share them.
const colours = ["#4269d0", "#e08a1e", "#e0544b", "#2f9e83", "#3ca951", "#b14ec4", "#9c6b4e", "#c7679e"];

// draw makes steps of what was spent until now or until the window's end, the limit, and a dashed line towards where everybody's budget ends.
export function draw(of: OverTime, now: Date, width: number): SVGSVGElement | HTMLElement {
  const points = of.curves.flatMap((c) => c.points.map((p) => ({ who: c.name, at: new Date(p.X * 1000), used: p.Y })));
  const all = of.curves[0].points;
  const level = all[all.length - 1].Y;
  const ends = of.forecasts.find((f) => !f.analyst && !f.role)?.ends;
  const span = now.getTime() - all[0].X * 1000;
  const shown = new Date(now.getTime() + span / 2); // half as long ahead as back
  const share = ends ? Math.min(1, span / 2 / Math.max(1, new Date(ends).getTime() - now.getTime())) : 0;
  const forecast = ends ? [{ at: now, used: level }, { at: share < 1 ? shown : new Date(ends), used: level + share * (1 - level) }] : [];
  const tickFormat = (d: Date) => (span < 180e3 ? d.toISOString().slice(11, 19) : span < 2 * 86400e3 ? d.toISOString().slice(11, 16) : d.toISOString().slice(0, 10));
  const top = Math.max(1, ...points.map((p) => p.used));
  const chart = Plot.plot({
    width,
    height: 300,
    marginLeft: 55,
    marginBottom: 40,
    style: { background: "transparent", color: "inherit", fontSize: "12px" },
    ariaLabel: "Share of the budget that is spent, over time",
    ariaDescription: "The table below has the present numbers.",
    x: { type: "utc", domain: [new Date(all[0].X * 1000), forecast.length ? forecast[1].at : new Date(Math.max(now.getTime(), all[all.length - 1].X * 1000))], label: "time, UTC", ticks: Math.max(2, Math.min(8, Math.floor(width / 110))), tickFormat },
    y: { label: "share of the window's budget, of epsilon or delta", grid: true, domain: [0, top * 1.05], tickFormat: "%" },
    color: { legend: true, domain: of.curves.map((c) => c.name), range: ["#9aa0a8", ...of.curves.slice(1).map((_, i) => colours[i % colours.length])] },
    marks: [
      Plot.ruleX(all.filter((p) => p.Y === 0), { x: (p) => new Date(p.X * 1000), stroke: "currentColor", strokeOpacity: 0.35, className: "window" }), // where windows begin and end
      Plot.ruleY([1], { stroke: "var(--bad, #a3231f)", strokeDasharray: "6,4" }),
      Plot.lineY(points, { x: "at", y: "used", z: "who", stroke: "who", curve: "step-after", strokeWidth: (p) => (p.who === of.curves[0].name ? 6 : 1.8), className: "spent" }),
      Plot.lineY(forecast, { x: "at", y: "used", stroke: "currentColor", strokeDasharray: "2,4", className: "forecast" }),
    ],
  }) as SVGSVGElement | HTMLElement;
  const whole = chart.matches("svg") ? chart : chart.querySelector("svg[viewBox][width='" + width + "']") ?? chart.querySelector("svg:last-of-type")!;
  for (const g of whole.querySelectorAll("g[aria-label]")) g.removeAttribute("aria-label");
  whole.setAttribute("role", "img");
  return chart;
}
