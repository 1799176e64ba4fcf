// How values and intervals are read and written.
import type { Column, Interval } from "./api";

// number is NaN where there is none to draw. A duration as PostgreSQL writes it is in seconds, as its interval is: with months of 30 days.
export function number(text: string | null): number {
  if (text === null) return NaN;
  const x = Number(text);
  if (text !== "" && !Number.isNaN(x)) return Number.isFinite(x) ? x : NaN;
  const m = text.match(/^(?:(-?\d+) years? ?)?(?:(-?\d+) mons? ?)?(?:(-?\d+) days? ?)?(?:(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?))?$/);
  if (text === "" || !m) return NaN;
  const [years, months, days, sign, hours, minutes, seconds] = m.slice(1);
  const clock = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return (Number(years ?? 0) * 360 + Number(months ?? 0) * 30 + Number(days ?? 0)) * 86400 + (sign === "-" ? -clock : clock);
}

// time reads a date or a timestamp as PostgreSQL writes it; one without a zone is read as UTC.
export function time(text: string | null): Date {
  const m = (text ?? "").match(/^(\d{4,}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d(?::\d\d)?)?)?$/);
  if (!m) return new Date(NaN);
  const zone = m[3] === undefined ? "Z" : m[3].length === 3 ? m[3] + ":00" : m[3];
  return new Date(`${m[1]}T${m[2] ?? "00:00:00"}${zone}`);
}

// The units of durations, in seconds.
export const units: [string, number][] = [["days", 86400], ["hours", 3600], ["minutes", 60], ["seconds", 1]];

// duration writes seconds as PostgreSQL writes an interval.
export function duration(seconds: number): string {
  const days = Math.trunc(seconds / 86400);
  const rest = Math.abs(seconds - days * 86400);
  const two = (x: number) => String(Math.floor(x)).padStart(2, "0");
  const fraction = String(Number((rest % 1).toFixed(6))).slice(1);
  const clock = rest > 0 ? `${seconds < 0 ? "-" : ""}${two(rest / 3600)}:${two((rest / 60) % 60)}:${two(rest % 60)}${fraction}` : "";
  return [days !== 0 ? `${days} ${days === 1 ? "day" : "days"}` : "", clock].filter(Boolean).join(" ") || "00:00:00";
}

// end is an end of an interval as a file has it: with all its digits.
export const end = (x: number, kind: Column["kind"]) => (kind === "duration" ? duration(x) : String(x));

// between writes an interval's ends with the digits that its width has, rounded outward. "" where neither is known.
export function between({ low, high }: Pick<Interval, "low" | "high">, kind: Column["kind"] = "number"): string {
  if (low === undefined && high === undefined) return "";
  const width = low !== undefined && high !== undefined ? high - low : Math.abs((low ?? high)!);
  const whole = [low, high].every((x) => x === undefined || Number.isInteger(x));
  const digits = Math.min(15, width > 0 && !whole ? Math.max(0, 1 - Math.floor(Math.log10(width / 2))) : 0);
  const step = kind === "duration" ? (units.find(([, s]) => width / 2 >= s)?.[1] ?? 0) : width > 0 ? Math.pow(10, -digits) : 0;
  const text = (x: number, round: (x: number) => number) => {
    const steps = x / step;
    const out = step === 0 ? x : round(Math.abs(steps - Math.round(steps)) < 1e-6 ? Math.round(steps) : steps) * step;
    if (kind === "duration") return duration(out).replace("-", "−");
    return (step === 0 ? String(out) : (out === 0 ? 0 : out).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false })).replace("-", "−");
  };
  if (high === undefined) return `${text(low!, Math.floor)} or more`;
  if (low === undefined) return `${text(high, Math.ceil)} or less`;
  return `${text(low, Math.floor)} to ${text(high, Math.ceil)}`;
}

// figure writes a price or an epsilon with four digits.
export function figure(x: number): string {
  const rounded = Number(x.toPrecision(4));
  return rounded !== 0 && Math.abs(rounded) < 1e-3 ? rounded.toExponential() : String(rounded);
}
