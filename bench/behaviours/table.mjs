// The tables of docs/what-other-tools-say.md.
import { ROWS } from "./rows.mjs";
import { OURS, PEERS } from "./tools.mjs";

const ABSENT = "absent";

export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return "-";
  return perSecond >= 10_000 ? `${(perSecond / 1000).toFixed(1)}k/s` : `${perSecond.toFixed(0)}/s`;
}

export function share(part) {
  if (part === null || part === undefined) return "-";
  const percent = part * 100;
  return `${percent === 0 || percent >= 10 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

export function time(ns) {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "-";
  if (ns < 1e6) return `${(ns / 1e3).toFixed(0)} us`;
  return ns < 1e9 ? `${(ns / 1e6).toFixed(ns < 1e7 ? 1 : 0)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

const figures = (said) => {
  const times = said.mean === null ? `${time(said.p50)}, ${time(said.p99)}` :
    `mean ${time(said.mean)}`;
  return `${rate(said.rate)}, ${share(said.failedShare)}, ${times}`;
};
const truthful = ({ rate: good, failedShare, good: { p50, p99 } }) =>
  `${rate(good)}, ${share(failedShare)}, ${time(p50)}, ${time(p99)}`;
const marked = (list) => (list.length ? ` **${list.join("; ")}**` : "");

// The true rate in the tool's own run, where it differs from the one shown.
const differs = (truth, shown) =>
  Math.abs(truth.rate - shown.rate) > 0.1 * Math.max(truth.rate, shown.rate)
    ? ` (true in its run: ${rate(truth.rate)})` : "";

function point(result, shown) {
  if (!result) return ABSENT;
  const first = result.points ? result.points[0] : result;
  const said = first?.said ? figures(first.said) : "nothing";
  return `${said}${first ? differs(first.truth, shown) : ""}${marked(result.marks)}`;
}

const row = (cells) => `| ${cells.join(" | ")} |\n`;
const head = (cells) => row(cells) + row(cells.map(() => "---"));

function closedLoop(names, results, peers) {
  let text = head(["behaviour", "true", "ceiling load", ...peers]);
  for (const name of names) {
    const of = results[name];
    const shown = of.load.points[0]?.truth;
    if (!shown) continue;
    const cells = peers.map((peer) => point(of[peer], shown));
    text += row([`\`${name}\``, truthful(shown), point(of.load, shown), ...cells]);
  }
  return text;
}

function openLoop(names, results) {
  let text = head(["behaviour", "asked", "true", "ceiling load -R", "exit"]);
  for (const name of names) {
    const of = results[name]["load -R"];
    const asked = ROWS.find((one) => one.name === name).rate;
    const shown = of.points[0]?.truth;
    text += row([`\`${name}\``, `${asked}/s`, shown ? truthful(shown) : "-",
      shown ? point(of, shown) : "nothing", of.exit]);
  }
  return text;
}

const words = (wanted) => ({ top: "at least 800/s", none: "no rate" })[wanted] ?? `${wanted}/s`;

function searches(behaviours, results) {
  let text = head(["behaviour", "true", "ceiling ramp", "exit", "objective", "true", "ceiling find",
    "exit"]);
  for (const { name, capacity_per_s: capacity } of behaviours) {
    const { ramp, find } = results[name];
    const asked = ROWS.find((one) => one.name === name);
    const best = Math.max(0, ...ramp.points.map((point) => point.truth.rate));
    const open = asked.exits ? "it dies" : `${rate(best)} at most, no wall`;
    const true_ = capacity ? `${capacity}/s` : open;
    const said = (result) => `${result.headline[0] ?? "nothing"}${marked(result.marks)}`;
    text += row([`\`${name}\``, true_, said(ramp), ramp.exit, `\`${asked.slo}\``,
      words(asked.finds), said(find), find.exit]);
  }
  return text;
}

// How many behaviours each tool gets wrong, by what is wrong.
function counts(names, results, tools) {
  const kinds = {
    "wrong rate": /^rate|^prints no|^no point|^a ceiling|^names no|^says|^finds no|^ends below/,
    "hidden failures": /^hides|^calls/,
    "wrong latency": /^p50|^p99|^mean/,
    "stopped asking, or hung": /^asked nothing|^hangs|^ended with/,
    "refused, or only a bound": /^exit|^only/,
  };
  let text = head(["tool", ...Object.keys(kinds), "all right"]);
  for (const tool of tools) {
    const there = names.filter((name) => results[name][tool]);
    if (there.length === 0) continue;
    const lists = there.map((name) => results[name][tool].marks);
    const cells = Object.values(kinds)
      .map((kind) => lists.filter((list) => list.some((mark) => kind.test(mark))).length);
    text += row([tool, ...cells, `${lists.filter((list) => list.length === 0).length} of ` +
      `${there.length}`]);
  }
  return text;
}

function headlines(names, results, commands) {
  let text = head(["behaviour", "command", "exit", "says"]);
  for (const name of names) {
    for (const command of commands) {
      const { headline, exit } = results[name][command];
      const said = headline.join(" ").replaceAll("|", "\\|");
      text += row([`\`${name}\``, command, exit, said || "nothing"]);
    }
  }
  return text;
}

// Everything that is generated.
export function page(behaviours, results, facts) {
  const peers = PEERS.map(({ name }) => name);
  const ours = OURS.map(({ name }) => name);
  // Leaves out rows of which a part has not been run yet.
  const there = behaviours.filter(({ name }) => ours.every((one) => results[name]?.[one]));
  const names = there.map(({ name }) => name);
  const list = there.map(({ name, what }) => `- \`${name}\`: ${what}.\n`).join("");
  return `\n${facts.join("  \n")}\n\n### How often\n\n` +
    counts(names, results, [...ours, ...peers]) +
    "\n### The behaviours\n\n" + list +
    "\n### Closed loop, 32 connections\n\n" + closedLoop(names, results, peers) +
    "\n### Open loop\n\n" + openLoop(names, results) +
    "\n### Ramps and searches\n\n" + searches(there, results) +
    "\n### What ceiling says, in its own words\n\n" + headlines(names, results, ours);
}
