"use strict";
// Fills the page from events (crates/live/src/message.rs) and extends its charts. Attributes of the
// root element show what it has received: data-ticks, data-state, data-over.
(() => {
  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const say = (id, text) => {
    if (at(id).textContent !== text) at(id).textContent = text;
  };
  const CHARTS = {
    "rate-now": (tick) => [tick.rate],
    "latency-now": (tick) => [tick.p50_ns, tick.p99_ns],
    "cpus-now": (tick) => [tick.client_cpus, tick.server_cpus],
    "busy-now": (tick) => [percent(tick.client_busy), percent(tick.server_busy)],
    "in-flight-now": (tick) => [tick.in_flight],
  };
  // A line with at most this many values shows a point for each.
  const FEW = 40;
  const LINES_MAX = 200;
  // A line of more values loses every second one of its older half.
  const TICKS_MAX = 20_000;
  const UNITS = { responses: "/s", connections: " conns/s", events: " events/s" };
  const percent = (share) => (share == null ? null : 100 * share);

  root.dataset.script = "";
  const plots = ceilingCharts.mounted;
  let latest = null;
  let ticks = 0;
  // Ticks that are not drawn: left out by the server, and by this page.
  let dropped = 0;
  let thinned = 0;
  // What goes on between levels, which ticks do not tell; empty in a level.
  let doing = "";
  let experiment = "";
  // Whether a visit was told of since the last run began.
  let isOfVisit = false;
  let isOver = false;
  let isDue = false;
  let redraws = false;

  // --- Drawing ------------------------------------------------------------------------------

  const timeName = (of, counts) => (counts === "events" ? `Staleness ${of}` : of);
  const show = (unit, value) => ceilingFormat.value(unit, value);
  const numbers = () => {
    if (!latest) return;
    say("rate", `${show("count", latest.rate)}${UNITS[latest.counts]}`);
    for (const of of ["p50", "p99"]) {
      at(of).previousElementSibling.textContent = timeName(of, latest.counts);
    }
    say("p50", show("ns", latest.p50_ns));
    say("p99", show("ns", latest.p99_ns));
    say("in-flight", show("count", latest.in_flight));
    say("open", show("count", latest.open));
    say("failures", show("count", latest.failures));
    say("client-cpus", show("cpus", latest.client_cpus));
    say("server-cpus", show("cpus", latest.server_cpus));
    say("failed", latest.failed.map(([name, count]) => `${name}: ${count}`).join(", "));
    const done = at("done");
    done.hidden = latest.done == null || root.dataset.state !== "running";
    if (latest.done != null) done.value = latest.done;
  };

  // --- Hosts --------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  const BOTH = "Host of generator and server";
  const GAP = 0.15;
  // How wide a CPU is drawn, and all of them at most.
  const CPU_PIXELS = 40;
  const CPUS_PIXELS = 960;

  // Each CPU is a column of its states, from below.
  const cpus = (place, all) => {
    const svg = place.querySelector("svg.cpus");
    const words = all ? `${all.length} CPUs, from ${all[0][0]} to ${all[all.length - 1][0]}` : "-";
    place.querySelector("[data-part=cpus-words]").textContent = `CPUs by state: ${words}`;
    svg.setAttribute("aria-label", words);
    svg.toggleAttribute("hidden", !all);
    if (!all) return;
    svg.setAttribute("viewBox", `0 0 ${all.length} 100`);
    svg.setAttribute("width", Math.min(CPU_PIXELS * all.length, CPUS_PIXELS));
    svg.replaceChildren(...all.flatMap(([cpu, states], nth) => {
      let top = 100;
      const rect = (state, height) => {
        top -= height;
        const part = document.createElementNS(SVG, "rect");
        part.setAttribute("class", `part-${state + 1}`);
        for (const [name, value] of
          Object.entries({ x: nth + GAP / 2, y: top, width: 1 - GAP, height })) {
          part.setAttribute(name, value);
        }
        return part;
      };
      const idle = Math.max(0, 100 - states.reduce((sum, state) => sum + state, 0));
      const column = document.createElementNS(SVG, "g");
      const title = document.createElementNS(SVG, "title");
      title.textContent = `CPU ${cpu}: ${100 - idle} %`;
      column.append(title, ...states.map((height, state) => rect(state, height)), rect(6, idle));
      return [column];
    }));
  };

  // Each with the texts of its cells; without any, whether there was none or nothing was read.
  const fill = (place, part, [outer, inner], all) => {
    const row = (texts) => {
      const line = document.createElement(outer);
      line.append(...texts.map((text) => {
        const cell = document.createElement(inner);
        cell.textContent = text;
        return cell;
      }));
      return line;
    };
    const some = all?.length ? all : [[all ? "none" : "-"]];
    place.querySelector(`[data-part=${part}]`).replaceChildren(...some.map(row));
  };

  const host = ({ sides, figures, cpus: all, links, interrupts }) => {
    const side = sides[sides.length - 1];
    const place = at(`host-${side}`);
    place.hidden = false;
    if (sides.length > 1) place.querySelector("h3").textContent = BOTH;
    for (const value of place.querySelectorAll("dd")) {
      value.textContent = show(value.dataset.unit, figures[value.id]);
    }
    cpus(place, all?.length ? all : null);
    fill(place, "links", ["tr", "td"], links?.map(({ name, received, sent, shares }) => [
      name, show("bytes_per_second", received), show("share", shares?.[0]),
      show("bytes_per_second", sent), show("share", shares?.[1]),
    ]));
    const queues = interrupts?.map(([name, count]) => [name, show("per_second", count)]);
    fill(place, "interrupts", ["li", "span"], queues);
  };

  const isZoomed = ({ scales: { x }, data: [shown] }) =>
    shown.length > 1 && (x.min > shown[0] || x.max < shown[shown.length - 1]);

  const draw = () => {
    isDue = false;
    numbers();
    for (const plot of plots) {
      const [view] = plot.chart.views;
      if (redraws) continue;
      const data = [view.x, ...view.series.map((series) => series.y)];
      // A reader who looks at a part of the chart keeps it.
      const isPart = isZoomed(plot.plot);
      plot.plot.setData(data, !isPart);
      if (isPart) plot.plot.redraw();
    }
    if (redraws) ceilingCharts.drawAll(plots);
    redraws = false;
    root.dataset.ticks = String(ticks);
  };

  // However many events arrive at once, the page is drawn once per animation frame.
  const later = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(draw);
  };

  const clear = () => {
    for (const plot of plots) {
      const [view] = plot.chart.views;
      view.x = [];
      view.bands = [];
      view.series.forEach((series) => { series.y = []; });
    }
    latest = null;
    ticks = 0;
    dropped = 0;
    thinned = 0;
    doing = "";
    redraws = true;
    for (const id of ["levels", "notices", "conclusion"]) at(id).replaceChildren();
    for (const id of ["level", "failed", "gap", "of-time", "files"]) say(id, "");
    later();
  };

  // --- Messages -----------------------------------------------------------------------------

  const line = (id, text) => {
    const item = document.createElement("li");
    item.textContent = text;
    at(id).append(item);
    if (at(id).childElementCount > LINES_MAX) at(id).firstElementChild.remove();
  };

  const state = (name, words) => {
    root.dataset.state = name;
    say("stage", words);
  };

  // Shows the blocks of a report. A parsed document runs no scripts, and the policy allows none.
  const conclude = ({ html }) => {
    const parsed = new DOMParser().parseFromString(html, "text/html");
    at("conclusion").replaceChildren(...parsed.body.childNodes);
  };

  const gap = () => {
    const count = dropped + thinned;
    if (count) say("gap", `${count} older ticks were left out: the run is too long to keep all.`);
  };

  // Leaves out every second position of the older half, in all charts.
  const thin = () => {
    const [first] = plots;
    const { length } = first.chart.views[0].x;
    if (length <= TICKS_MAX) return;
    const isKept = (_, nth) => nth > length / 2 || nth % 2 === 0;
    for (const plot of plots) {
      const [view] = plot.chart.views;
      view.x = view.x.filter(isKept);
      view.series.forEach((series) => { series.y = series.y.filter(isKept); });
    }
    thinned += length - first.chart.views[0].x.length;
    gap();
  };

  // The measured part of a level is a band above the charts.
  const band = (tick) => {
    for (const plot of plots) {
      const { bands } = plot.chart.views[0];
      const last = bands[bands.length - 1];
      if (tick.stage !== "measuring") {
        if (last) last.isOpen = false;
      } else if (last?.isOpen) {
        last.to = tick.t_s;
      } else {
        const label = at("level").textContent.replace(/^(level|trial) (\d+).*/, "$2");
        bands.push({ label, from: tick.t_s, to: tick.t_s, mark: "none", isOpen: true });
        redraws = true;
      }
    }
  };

  const take = {
    reset: clear,
    experiment: ({ title }) => {
      experiment = title;
      say("visit", title);
    },
    visit: ({ index, of, name }) => {
      say("visit", `${experiment}${experiment && ", "}visit ${index + 1} of ${of}: ${name}`);
      isOfVisit = true;
    },
    begin: ({ title, subtitle }) => {
      clear();
      if (!isOfVisit) {
        experiment = "";
        say("visit", "");
      }
      isOfVisit = false;
      say("title", title);
      document.title = title;
      say("subtitle", subtitle);
      say("of-time", "There is no verdict yet.");
      state("running", "starting");
    },
    level: ({ index, of, text }) => {
      doing = "";
      say("level", of ? `level ${index + 1} of ${of}: ${text}` : `trial ${index + 1}: ${text}`);
    },
    tick: (tick) => {
      latest = tick;
      ticks += 1;
      state("running", doing || tick.stage);
      for (const plot of plots) {
        const [view] = plot.chart.views;
        view.x.push(tick.t_s);
        CHARTS[plot.chart.id](tick).forEach((value, nth) => view.series[nth].y.push(value ?? null));
        if (view.x.length === FEW + 1) redraws = true;
      }
      thin();
      // A block of an experiment is not a level.
      if (!doing) band(tick);
    },
    hosts: ({ hosts }) => {
      for (const place of document.querySelectorAll(".host")) place.hidden = true;
      document.querySelector("#hosts .keys").hidden = false;
      hosts.forEach(host);
      root.dataset.hosts = String(hosts.length);
    },
    doing: ({ text }) => {
      doing = text;
      band({ stage: text });
      state("running", text);
    },
    notice: ({ text }) => line("notices", text),
    point: ({ text }) => line("levels", text.trim()),
    present: ({ t_s: seconds, conclusion }) => {
      say("of-time", `So far, after ${seconds.toFixed(0)} s:`);
      conclude(conclusion);
    },
    end: ({ id, conclusion }) => {
      state("ended", "ended");
      say("level", "");
      say("of-time", "");
      conclude(conclusion);
      root.dataset.run = id;
    },
    failed: ({ why }) => {
      state("failed", "ended without a result");
      line("notices", why);
    },
    gap: (message) => {
      ({ dropped } = message);
      gap();
    },
    over: ({ has_report: hasReport }) => finish(hasReport),
  };

  // The server ends soon, so report and record are fetched now and kept in this page.
  const finish = async (hasReport) => {
    isOver = true;
    source.close();
    say("link", "");
    const keep = async (path, type, name, words) => {
      const response = await fetch(path);
      if (!response.ok) return;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type }));
      link.textContent = words;
      if (name) link.download = name;
      at("files").append(link, " ");
    };
    if (hasReport) {
      try {
        await keep("report.html", "text/html", "", "Report");
        await keep("record.json", "application/json", "run.json", "Record (JSON)");
      } catch {
        say("link", "the run has ended before its report could be fetched; it is kept on disk");
      }
    }
    root.dataset.over = "yes";
  };

  const source = new EventSource("events");
  source.onopen = () => say("link", "");
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    take[message.kind]?.(message);
    root.dataset.last = event.lastEventId;
    later();
  };
  // The browser reconnects by itself, and gets the events that it missed.
  source.onerror = () => {
    if (!isOver) say("link", "the connection was lost; trying again");
  };
})();
