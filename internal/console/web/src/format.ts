// How intervals are written.

// ends writes an interval's ends with the digits that its width has, rounded outward.
export function ends(low?: number, high?: number): [string, string] {
  if (low === undefined && high === undefined) return ["?", "?"];
  const width = low !== undefined && high !== undefined ? high - low : Math.abs((low ?? high)!);
  const digits = width > 0 ? Math.max(0, 1 - Math.floor(Math.log10(width / 2))) : 0;
  const unit = Math.pow(10, Math.min(digits, 15));
  const text = (x: number | undefined, round: (x: number) => number) => {
    if (x === undefined) return "?";
    const out = round(Math.abs(x * unit - Math.round(x * unit)) < 1e-6 ? Math.round(x * unit) : x * unit) / unit;
    return (out === 0 ? 0 : out).toLocaleString("en-US", { minimumFractionDigits: Math.min(digits, 15), maximumFractionDigits: Math.min(digits, 15), useGrouping: false }).replace("-", "−");
  };
  return [text(low, Math.floor), text(high, Math.ceil)];
}
