// The answer: its notices, a table with each number's interval, and a chart.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Column, Interval, Row } from "./api";
import { noChart, beside } from "./axes";
import { firstValue, valueColumns } from "./columns";
import { csv } from "./csv";
import { drawToFit } from "./fit";
import { between } from "./format";

export interface Result {
  columns: Column[];
  rows: Row[];
  notices: string[];
  progress: string;
  tag: string;
}

// The rows that the table has at first.
const shownRows = 500;

function save(name: string, type: string, text: string) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

function Value({ text, column, interval }: { text: string | null; column: Column; interval: Interval | undefined }) {
  const range = interval ? between(interval, column.kind) : "";
  const why = !interval || interval.part ? "" : text === null ? interval.why : interval.unknown ? "interval not known: " + interval.unknown : "";
  return (
    <td class={column.kind === "number" ? "number" : ""}>
      {text === null ? <em>NULL</em> : text}
      {(why || range) && <span class="interval">{[why, range].filter(Boolean).join(": ")}</span>}
    </td>
  );
}

function Grid({ of }: { of: Result }) {
  const [all, setAll] = useState(false);
  const rows = all ? of.rows : of.rows.slice(0, shownRows);
  return (
    <>
      <div class="rows" tabIndex={0} role="region" aria-label="Answer as a table">
        <table>
          <thead>
            <tr>{of.columns.map((c) => <th scope="col" class={c.kind === "number" ? "number" : ""}>{c.name}</th>)}</tr>
          </thead>
          <tbody>
            {rows.map((r) => <tr>{of.columns.map((c, i) => <Value text={r.values[i]} column={c} interval={r.intervals[i]} />)}</tr>)}
          </tbody>
        </table>
      </div>
      {rows.length < of.rows.length && <button onClick={() => setAll(true)}>Show all {of.rows.length} rows</button>}
    </>
  );
}

function Chart({ of, value }: { of: Result; value: number }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let watch: ResizeObserver | undefined;
    let gone = false;
    import("./chart").then(({ draw }) => {
      if (gone || !place.current) return;
      watch = drawToFit(place.current, (width) => draw(of.columns, of.rows, value, width));
    }).catch((e) => setFailed(String(e)));
    return () => {
      gone = true;
      watch?.disconnect();
    };
  }, [of, value]);
  return (
    <>
      {failed && <p class="said" role="alert">The chart cannot be drawn: {failed}</p>}
      <div class="chart" ref={place} />
      {beside(of.columns, of.rows, value).map((line) => <p class="said">{line}</p>)}
    </>
  );
}

export function Answer({ of, running, old }: { of: Result; running: boolean; old: boolean }) {
  const [chosen, setChosen] = useState<"table" | "chart">("chart");
  const [value, setValue] = useState(-1);
  const list = valueColumns(of.columns, of.rows);
  const drawn = list.includes(value) ? value : firstValue(list, of.rows);
  const why = noChart(of.columns, of.rows, drawn);
  const can = !running && why === "";
  const view = can ? chosen : "table";
  const saveChart = async () => {
    const { svg } = await import("./chart");
    const chart = document.querySelector(".chart svg");
    if (chart) save("chart.svg", "image/svg+xml", svg(chart));
  };
  return (
    <section aria-label="Answer">
      {old && of.columns.length > 0 && <p class="said">This is the answer to what was in the editor before.</p>}
      {of.columns.length > 0 && (
        <>
          <div class="actions" style="margin: 0.6rem 0">
            {can && (
              <div role="group" aria-label="Show the answer as">
                <button aria-pressed={view === "chart"} onClick={() => setChosen("chart")}>Chart</button>{" "}
                <button aria-pressed={view === "table"} onClick={() => setChosen("table")}>Table</button>
              </div>
            )}
            {!running && why !== "" && <span class="said">{why}</span>}
            {!running && (view === "chart" || why !== "") && list.length > 1 && (
              <label>Value{" "}
                <select value={String(drawn)} onChange={(e) => setValue(Number((e.target as HTMLSelectElement).value))}>
                  {list.map((i) => <option value={String(i)}>{of.columns[i].name}</option>)}
                </select>
              </label>
            )}
            {!running && <button onClick={() => save("answer.csv", "text/csv", csv(of.columns, of.rows))}>Save as CSV</button>}
            {view === "chart" && <button onClick={saveChart}>Save as SVG</button>}
          </div>
          {view === "chart" ? <Chart of={of} value={drawn} /> : <Grid of={of} />}
        </>
      )}
      {of.notices.length > 0 && <ul class="notices" aria-live="polite">{of.notices.map((n) => <li>{n}</li>)}</ul>}
      {of.columns.length === 0 && of.tag && <p role="status">{of.tag}</p>}
    </section>
  );
}
