"use strict";
// Formats numbers like the rest of ceiling (crates/model/src/units.rs), by the unit of an axis.
const ceilingFormat = (() => {
  const scaled = (value, steps) => {
    const size = Math.abs(value);
    for (const [from, divisor, suffix] of steps) {
      if (size >= from) return [value / divisor, suffix];
    }
    return [value, ""];
  };

  const digits = (value) => {
    const size = Math.abs(value);
    if (size >= 99.95 || value === 0) return 0;
    return size >= 9.995 ? 1 : 2;
  };

  const count = (value) => {
    const [number, suffix] = scaled(value, [
      [999.5e6, 1e9, "G"], [999.5e3, 1e6, "M"], [9999.5, 1e3, "k"],
    ]);
    const whole = suffix === "" && Number.isInteger(number);
    return number.toFixed(whole ? 0 : digits(number)) + suffix;
  };

  const ns = (value) => {
    const [number, suffix] = scaled(value, [
      [999.5e6, 1e9, "s"], [999.5e3, 1e6, "ms"], [999.5, 1e3, "us"],
    ]);
    return suffix === "" ? `${number.toFixed(0)}ns` : number.toFixed(digits(number)) + suffix;
  };

  // 1000 is p99.9: each nine is a factor of ten.
  const nines = (value) => {
    const decimals = Math.max(1, Math.floor(Math.log10(value)) + 1);
    return `p${Number((100 - 100 / value).toFixed(Math.min(decimals, 8)))}`;
  };

  // A ratio as a change from 1.
  const change = (value, decimals) => {
    const percent = (value - 1) * 100;
    return `${percent > 0 ? "+" : ""}${decimals(percent)}%`;
  };

  // Percent of a whole: 0 only for none of it, and 100 only for all of it.
  const part = (percent) => {
    if (percent <= 0 || percent >= 100) return percent.toFixed(0);
    if (percent < 0.005) return "<0.01";
    if (percent >= 99.95) return ">99.9";
    return percent.toFixed(percent >= 0.095 ? 1 : 2);
  };

  // Removes trailing zeros: a tick of an axis is a round number.
  const bare = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

  const values = {
    "count": count,
    "per_second": (value) => `${count(value)}/s`,
    "bytes": (value) => `${count(value)}B`,
    "bytes_per_second": (value) => `${count(value)}B/s`,
    "ns": ns,
    "seconds": (value) => `${Number(value.toFixed(2))}s`,
    "percent": (value) => `${value.toFixed(1)}%`,
    "share": (value) => `${part(100 * value)} %`,
    "minutes": (value) => `${Number(value.toFixed(2))} min`,
    "cpus": (value) => value.toFixed(2),
    "change": (value) => change(value, (percent) => percent.toFixed(1)),
    "nines": nines,
  };

  const value = (unit, number) => (number == null ? "-" : values[unit](number));
  const tick = (unit, number) => {
    if (number == null) return "";
    if (unit === "percent" || unit === "cpus") return String(Number(number.toFixed(3)));
    if (unit === "change") return change(number, (percent) => Number(percent.toFixed(2)));
    if (unit === "minutes") return `${Number(number.toFixed(3))} min`;
    if (unit === "per_second") return bare(count(number));
    if (unit === "bytes" || unit === "bytes_per_second") return `${bare(count(number))}B`;
    return bare(value(unit, number));
  };
  return { value, tick };
})();
