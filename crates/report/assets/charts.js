"use strict";
// Draws chart specifications (crates/report/src/page.rs) with uPlot. A specification says what to
// show; this file decides how.
const ceilingCharts = (() => {
  // Besides its colour, each line has its own dash pattern, for print and for colour-blind readers.
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 5], [6, 2, 1, 2]];
  // Each CPU state keeps its colour, whichever other states are drawn.
  const STATES = ["usr", "sys", "softirq", "irq", "steal", "iowait", "idle"];
  // Each series of dots has its own symbol, for the same reason; then the same symbols hollow.
  const SIGNS = ["circle", "square", "triangle", "diamond", "cross"];
  const HEIGHT = 260;
  const HEIGHT_ON_A_PHONE = 220;
  const PHONE_WIDTH = 480;
  // With more windows than these, a chart takes the full width of the page.
  const BANDS_SIDE_BY_SIDE = 6;

  const style = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const theme = () => ({
    text: style("--faint"),
    line: style("--rule"),
    paper: style("--paper"),
    broken: style("--bad"),
    caution: style("--caution"),
    band: style("--neutral"),
    lines: Array.from({ length: 9 }, (_, index) => style(`--line-${index + 1}`)),
    states: Array.from({ length: 7 }, (_, index) => style(`--state-${index + 1}`)),
  });

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // --- Scales -------------------------------------------------------------------------------

  // Round numbers between two values: the fewer powers of ten, the more numbers per power.
  const roundSteps = (low, high) => {
    const steps = [];
    const decades = Math.log10(high / low);
    const factors = decades > 4 ? [1] : decades > 2 ? [1, 3] : decades > 0.8 ? [1, 2, 5]
      : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const factor of factors) {
        const step = factor * 10 ** power;
        if (step >= low * 0.999 && step <= high * 1.001) steps.push(step);
      }
    }
    return steps;
  };

  const ninesSteps = (high) => {
    const steps = [1, 2];
    for (let step = 10; step <= high * 1.001; step *= 10) steps.push(step);
    return steps;
  };

  // Drops steps whose labels would touch the previous one.
  const spaced = (plot, scale, steps, room) => {
    const kept = [];
    let last = -Infinity;
    for (const step of steps) {
      const at = plot.valToPos(step, scale);
      if (Math.abs(at - last) >= room) {
        kept.push(step);
        last = at;
      }
    }
    return kept;
  };

  // The largest change from 1; values that a gate struck do not count.
  const mostChange = ({ series, x_marks: marks }) => {
    const isSound = (value, at) => value != null && marks[at] !== "broken";
    const all = series.flatMap(({ y }) => y.filter(isSound).map((value) => Math.abs(value - 1)));
    return Math.max(...all, 0.01);
  };

  // Values out of range are drawn at the edge.
  const inside = (plot, value) => {
    const { min, max } = plot.scales.y;
    return Math.min(Math.max(value, min), max);
  };

  const scaleOf = (axis, isX, isStacked, view) => {
    const { limits, x: [first] } = view;
    if (axis.scale === "log") {
      const room = isX ? 1.06 : 1.25;
      return {
        distr: 3,
        range: (_plot, low, high) => {
          if (low == null || low <= 0) return [1, 10];
          return low === high ? [low / 2, high * 2] : [low / (isX ? 1.03 : room), high * room];
        },
      };
    }
    if (isX) {
      // Time starts at zero, unless the reader zoomed in.
      const isTime = axis.unit === "seconds" || axis.unit === "minutes";
      const begin = (low) => (isTime && low === first ? Math.min(0, low) : low);
      return {
        range: (_plot, low, high) => (low === high ? [low - 1, high + 1] : [begin(low), high]),
      };
    }
    if (isStacked) return { range: () => [0, 100] };
    // Changes are around 1; a range below a hundredth must not fill the chart.
    if (axis.unit === "change") {
      const most = mostChange(view) * 1.2;
      return { range: () => [1 - most, 1 + most] };
    }
    // A thread is full at one CPU: an idle one must not fill the chart.
    const least = axis.unit === "cpus" ? 1 : 0;
    const ends = limits.map((limit) => limit.within?.[1] ?? limit.at);
    return { range: (_plot, _low, high) => [0, Math.max(high, least, ...ends) * 1.1 || 1] };
  };

  // Without values, a scale would be made up.
  const hasValues = (plot, isX) => {
    const [x, ...series] = plot.data;
    return isX ? x.length > 0 : series.some((one) => one.some((value) => value != null));
  };

  const axisOf = (axis, isX, view, colours) => {
    const made = {
      scale: isX ? "x" : "y",
      stroke: colours.text,
      font: "12px system-ui, sans-serif",
      grid: { stroke: colours.line, width: 1 },
      ticks: { stroke: colours.line, width: 1, size: 4 },
      values: (plot, steps) =>
        steps.map((step) => (hasValues(plot, isX) ? ceilingFormat.tick(axis.unit, step) : "")),
      size: isX ? 30 : 56,
      gap: 4,
      space: isX ? 56 : 32,
    };
    if (axis.scale === "log") {
      made.filter = (_plot, steps) => steps;
      made.splits = (plot, _index, low, high) => {
        if (!isX) return spaced(plot, "y", roundSteps(low, high), 18);
        if (axis.unit === "nines") return spaced(plot, "x", ninesSteps(high), 30);
        const levels = view.x.filter((x) => x >= low && x <= high);
        return spaced(plot, "x", [...new Set(levels)], 40);
      };
    }
    return made;
  };

  // --- Marks and bands ----------------------------------------------------------------------

  // A cross on values with a failed gate, a ring on values with a reservation.
  const drawMarks = (plot, view, colours) => {
    if (!view.x_marks.length) return;
    const { ctx } = plot;
    const size = 5 * devicePixelRatio;
    ctx.save();
    ctx.lineWidth = 2 * devicePixelRatio;
    view.x_marks.forEach((mark, index) => {
      if (mark === "none") return;
      ctx.strokeStyle = mark === "broken" ? colours.broken : colours.caution;
      for (let series = 1; series < plot.series.length; series += 1) {
        const value = plot.data[series][index];
        if (value == null || !plot.series[series].show) continue;
        const x = plot.valToPos(view.x[index], "x", true);
        const y = plot.valToPos(inside(plot, value), "y", true);
        ctx.beginPath();
        if (mark === "broken") {
          ctx.moveTo(x - size, y - size);
          ctx.lineTo(x + size, y + size);
          ctx.moveTo(x + size, y - size);
          ctx.lineTo(x - size, y + size);
        } else {
          ctx.arc(x, y, size, 0, 2 * Math.PI);
        }
        ctx.stroke();
      }
    });
    ctx.restore();
  };

  // Measured windows as strips above the plot, with their name if it fits.
  const drawBands = (plot, view, colours, isStacked) => {
    if (!view.bands.length) return;
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    for (const band of view.bands) {
      const left = Math.max(plot.valToPos(band.from, "x", true), bbox.left);
      const right = Math.min(plot.valToPos(band.to, "x", true), bbox.left + bbox.width);
      if (right <= left) continue;
      const colour = { broken: colours.broken, caution: colours.caution, none: colours.band };
      ctx.fillStyle = colour[band.mark];
      ctx.globalAlpha = 1;
      ctx.fillRect(left, bbox.top - 5 * ratio, right - left, 4 * ratio);
      const sign = { broken: "! ", caution: "~ ", none: "" }[band.mark];
      const short = band.label.replace(/ connections?/, "").replace(/, visit /, "#");
      // The colour has the same meaning as the sign.
      const fits = (name) => ctx.measureText(name).width <= right - left;
      const name = [sign + short, short].find(fits);
      if (name) ctx.fillText(name, (left + right) / 2, bbox.top - 6 * ratio);
      // A shade over a stack would change its colours; edges are enough.
      ctx.globalAlpha = isStacked ? 0.5 : 0.09;
      const widths = isStacked ? [[left, ratio], [right, ratio]] : [[left, right - left]];
      for (const [x, width] of widths) ctx.fillRect(x, bbox.top, width, bbox.height);
    }
    ctx.restore();
  };

  // Limits such as the ceiling: a named line, with its interval as a shade.
  const drawLimits = (plot, view, colours) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = colours.text;
    ctx.fillStyle = colours.text;
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.lineWidth = ratio;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    for (const limit of view.limits) {
      const y = plot.valToPos(limit.at, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      const [low, high] = (limit.within ?? [limit.at, limit.at])
        .map((value) => plot.valToPos(value, "y", true));
      ctx.fillText(limit.label, bbox.left + bbox.width, high - 2 * ratio);
      ctx.globalAlpha = 0.15;
      ctx.fillRect(bbox.left, high, bbox.width, low - high);
      ctx.globalAlpha = 1;
    }
    ctx.restore();
  };

  // --- Dots ---------------------------------------------------------------------------------

  // Draws the symbol of a series around a position.
  const signPath = (index, x, y, size) => {
    const path = new Path2D();
    const kind = SIGNS[index % SIGNS.length];
    const corners = {
      square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
      triangle: [[0, -1.25], [1.2, 1], [-1.2, 1]],
      diamond: [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]],
      cross: [[-0.45, -1.3], [0.45, -1.3], [0.45, -0.45], [1.3, -0.45], [1.3, 0.45], [0.45, 0.45],
        [0.45, 1.3], [-0.45, 1.3], [-0.45, 0.45], [-1.3, 0.45], [-1.3, -0.45], [-0.45, -0.45]],
    }[kind];
    if (corners) corners.forEach(([dx, dy]) => path.lineTo(x + dx * size, y + dy * size));
    else path.arc(x, y, 1.1 * size, 0, 2 * Math.PI);
    path.closePath();
    return path;
  };

  const isHollow = (index) => Math.floor(index / SIGNS.length) % 2 === 1;

  const drawSign = (ctx, index, [x, y, size], colour, colours) => {
    const path = signPath(index, x, y, size);
    ctx.fillStyle = isHollow(index) ? colours.paper : colour;
    ctx.strokeStyle = colour;
    ctx.lineWidth = size / 2.5;
    ctx.fill(path);
    ctx.stroke(path);
  };

  const drawDots = (plot, chart, view, colours) => {
    if (chart.shape !== "dots") return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    view.series.forEach((series, index) => {
      if (!plot.series[index + 1].show) return;
      const colour = colours.lines[index % colours.lines.length];
      series.y.forEach((value, at) => {
        if (value == null) return;
        const x = plot.valToPos(view.x[at], "x", true);
        const y = plot.valToPos(inside(plot, value), "y", true);
        drawSign(ctx, index, [x, y, 4 * devicePixelRatio], colour, colours);
      });
    });
    ctx.restore();
  };

  // The symbol in the legend, as large as the text.
  const drawKey = (marker, index, colours) => {
    const canvas = element("canvas");
    [canvas.width, canvas.height] = [14 * devicePixelRatio, 14 * devicePixelRatio];
    const size = 7 * devicePixelRatio;
    const colour = colours.lines[index % colours.lines.length];
    drawSign(canvas.getContext("2d"), index, [size, size, size * 0.6], colour, colours);
    marker.replaceChildren(canvas);
  };

  // An empty chart says so.
  const drawAbsence = (plot, view, colours) => {
    if (view.series.some((series) => series.y.some((value) => value != null))) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = colours.text;
    ctx.font = `${13 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.fillText("no values", bbox.left + bbox.width / 2, bbox.top + bbox.height / 2);
    ctx.restore();
  };

  // --- Data ---------------------------------------------------------------------------------

  // Areas are drawn from the total down to the first part, each over the previous one.
  const stacked = (view, isShown) => {
    const sums = new Array(view.x.length).fill(0);
    // Where nothing was read there is a gap, not a zero.
    const isRead = sums.map((_, at) => view.series.some((series) => series.y[at] != null));
    return view.series.map((series, index) =>
      series.y.map((value, at) => {
        if (isShown[index]) sums[at] += value ?? 0;
        return isRead[at] ? sums[at] : null;
      }));
  };

  const dataOf = (chart, view, isShown) => {
    if (chart.shape !== "stacked") return [view.x, ...view.series.map((series) => series.y)];
    return [view.x, ...stacked(view, isShown).reverse()];
  };

  // The order in the specification; for stacks it is the reverse of the drawing order.
  const specIndex = (chart, view, drawn) =>
    (chart.shape === "stacked" ? view.series.length - drawn : drawn - 1);

  // Values between two gaps, of which a line shows nothing; all points are drawn where `isShown`.
  const alone = (plot, index, isShown) => {
    if (isShown) return null;
    const ys = plot.data[index];
    const isAlone = (at) => ys[at] != null && ys[at - 1] == null && ys[at + 1] == null;
    return [...ys.keys()].filter(isAlone);
  };

  const seriesOf = (chart, view, colours) => {
    const drawn = view.series.map((_, at) => {
      const index = specIndex(chart, view, at + 1);
      const series = view.series[index];
      const shared = {
        label: series.label,
        value: (_plot, _value, _at, row) =>
          (row == null ? "" : ceilingFormat.value(chart.y.unit, series.y[row])),
      };
      if (chart.shape === "stacked") {
        const known = STATES.indexOf(series.label);
        const colour = colours.states[known < 0 ? index % colours.states.length : known];
        return { ...shared, stroke: colour, fill: colour, width: 0, points: { show: false } };
      }
      if (chart.shape === "dots") {
        const stroke = colours.lines[index % colours.lines.length];
        return { ...shared, stroke, width: 0, paths: () => null, points: { show: false } };
      }
      return {
        ...shared,
        stroke: colours.lines[index % colours.lines.length],
        dash: DASHES[index % DASHES.length],
        width: 2,
        points: { show: view.x.length <= 40, filter: alone, size: 6, fill: colours.paper },
      };
    });
    const x = {
      label: chart.x.label,
      value: (_plot, value) => ceilingFormat.value(chart.x.unit, value),
    };
    return [x, ...drawn];
  };

  // --- One chart ----------------------------------------------------------------------------

  // Charts over the same x axis move their cursors together.
  const syncKey = (chart, view) =>
    `${chart.x.label}/${chart.x.unit}/${chart.views.length > 1 ? view.label : ""}`;

  // The symbol of a line in the legend: a piece of the line, with its dashes.
  const sign = (chart, series) => {
    const colour = series.stroke();
    const dashes = series.dash ?? [];
    if (chart.shape === "dots") return "transparent";
    if (chart.shape === "stacked" || dashes.length === 0) return colour;
    let at = 0;
    const stops = dashes.map((length, index) => {
      const from = at;
      at += length;
      return `${index % 2 ? "transparent" : colour} ${from}px ${at}px`;
    });
    return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
  };

  const optionsOf = (chart, view, width, colours) => ({
    width,
    height: width < PHONE_WIDTH ? HEIGHT_ON_A_PHONE : HEIGHT,
    padding: [view.bands.length ? 22 : 12, 14, 0, 0],
    series: seriesOf(chart, view, colours),
    scales: {
      x: { time: false, ...scaleOf(chart.x, true, false, view) },
      y: scaleOf(chart.y, false, chart.shape === "stacked", view),
    },
    axes: [axisOf(chart.x, true, view, colours), axisOf(chart.y, false, view, colours)],
    cursor: {
      sync: { key: syncKey(chart, view), setSeries: false },
      drag: { x: true, y: false },
      points: {
        size: chart.shape === "lines" ? 8 : 0,
        fill: (plot, at) => plot.series[at].stroke(),
      },
    },
    focus: { alpha: 0.35 },
    legend: { markers: { width: 0, fill: (plot, at) => sign(chart, plot.series[at]) } },
    hooks: {
      draw: [
        (plot) => drawLimits(plot, view, colours),
        (plot) => drawBands(plot, view, colours, chart.shape === "stacked"),
        (plot) => drawDots(plot, chart, view, colours),
        (plot) => drawMarks(plot, view, colours),
        (plot) => drawAbsence(plot, view, colours),
      ],
      setLegend: [(plot) => plot.root.classList.toggle("idle", plot.legend.idx == null)],
      setSeries: [(plot, at, change) => restack(plot, chart, view, at, change)],
    },
  });

  // When a state is hidden, the stack closes the gap.
  const restack = (plot, chart, view, at, change) => {
    if (chart.shape !== "stacked" || at == null || change.show === undefined) return;
    const isShown = view.series.map((_, index) => plot.series[view.series.length - index].show);
    plot.setData(dataOf(chart, view, isShown), false);
  };

  // Makes the entries of the legend switches that the keyboard can reach.
  const openLegend = (plot, chart, colours) => {
    plot.root.querySelectorAll(".u-series").forEach((row, index) => {
      const name = row.querySelector("th");
      if (!name || index === 0) return;
      const marker = row.querySelector(".u-marker");
      if (chart.shape === "dots" && marker) drawKey(marker, index - 1, colours);
      name.tabIndex = 0;
      name.setAttribute("role", "switch");
      const tell = () => name.setAttribute("aria-checked", String(plot.series[index].show));
      tell();
      name.addEventListener("click", () => queueMicrotask(tell));
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        name.click();
      });
    });
  };

  // Arrow keys move the cursor from value to value, Escape resets the zoom.
  const onKey = (plot, event) => {
    const x = plot.data[0];
    const last = x.length - 1;
    const now = plot.cursor.idx ?? 0;
    const moves = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last };
    if (event.key === "Escape") {
      plot.setData(plot.data);
      return;
    }
    if (!(event.key in moves)) return;
    event.preventDefault();
    const to = Math.min(Math.max(moves[event.key], 0), last);
    plot.setCursor({ left: plot.valToPos(x[to], "x"), top: plot.over.clientHeight / 2 }, true);
  };

  // The values as a table, built when the reader opens it.
  const fillTable = (holder, chart, view) => {
    const table = element("table");
    const head = element("tr");
    for (const title of [chart.x.label, ...view.series.map((series) => series.label)]) {
      const cell = element("th", "number", title);
      cell.scope = "col";
      head.append(cell);
    }
    table.append(element("thead"));
    table.tHead.append(head);
    const body = table.createTBody();
    view.x.forEach((x, at) => {
      const row = body.insertRow();
      const mark = view.x_marks[at] ?? "none";
      if (mark !== "none") row.className = mark;
      const sign = { broken: "! ", caution: "~ ", none: "" }[mark];
      row.append(element("th", "number", sign + ceilingFormat.value(chart.x.unit, x)));
      for (const series of view.series) {
        row.append(element("td", "number", ceilingFormat.value(chart.y.unit, series.y[at])));
      }
    });
    holder.replaceChildren(table);
  };

  const markNote = (chart, view) => {
    const marks = [view.mark, ...view.x_marks, ...view.bands.map((band) => band.mark)];
    const notes = [];
    if (marks.includes("broken")) notes.push("! cross or red: a gate failed");
    const where = chart.id.startsWith("order-") ? "Visits" : "Levels";
    if (marks.includes("caution")) notes.push(`~ ring or amber: with a reservation, see ${where}`);
    return notes.join("; ");
  };

  // Fills a figure except its plot; the returned object switches its view and draws it.
  const mount = (figure, chart) => {
    const plotHolder = element("div", "plot");
    plotHolder.tabIndex = 0;
    plotHolder.setAttribute("role", "group");
    plotHolder.setAttribute(
      "aria-label", `${chart.title}, chart. Arrow keys move along it, Escape resets the zoom.`);
    const note = element("p", "note mark-note");
    const details = element("details", "values");
    const holder = element("div", "scroll");
    holder.tabIndex = 0;
    holder.setAttribute("role", "region");
    holder.setAttribute("aria-label", `${chart.title}, values`);
    details.append(element("summary", "", "Values"), holder);
    figure.append(plotHolder, note, details);
    figure.classList.add(chart.shape);

    const state = { chart, selected: chart.selected, plot: null, onSelect: null };
    const view = () => chart.views[state.selected];
    const fill = () => details.open && fillTable(holder, chart, view());
    details.addEventListener("toggle", fill);
    plotHolder.addEventListener("keydown", (event) => state.plot && onKey(state.plot, event));

    // The width of a figure must be set before anything in it is measured.
    state.lay = () => figure.classList.toggle("wide", view().bands.length > BANDS_SIDE_BY_SIDE);
    state.width = () => Math.max(plotHolder.clientWidth, 200);
    state.draw = (colours, width) => {
      state.plot?.destroy();
      const isShown = view().series.map(() => true);
      const data = dataOf(chart, view(), isShown);
      state.plot = new uPlot(optionsOf(chart, view(), width, colours), data, plotHolder);
      openLegend(state.plot, chart, colours);
      state.plot.root.classList.add("idle");
      figure.classList.toggle("broken", view().mark === "broken");
      figure.classList.toggle("caution", view().mark === "caution");
      note.textContent = markNote(chart, view());
      fill();
    };
    state.select = (index) => {
      state.selected = index;
      if (state.picker) state.picker.value = String(index);
      state.lay();
      state.draw(theme(), state.width());
    };
    if (chart.views.length > 1) figure.querySelector("figcaption").append(pickerOf(state));
    state.lay();

    const fit = () => {
      const width = plotHolder.clientWidth;
      if (width > 0 && state.plot && width !== state.plot.width) {
        state.plot.setSize({ width, height: width < PHONE_WIDTH ? HEIGHT_ON_A_PHONE : HEIGHT });
      }
    };
    // In the next frame: changing sizes inside a resize observer is an error.
    new ResizeObserver(() => requestAnimationFrame(fit)).observe(plotHolder);
    return state;
  };

  const pickerOf = (state) => {
    const label = element("label", "picker", "Point ");
    const picker = element("select");
    state.chart.views.forEach((view, index) => {
      const sign = { broken: "! ", caution: "~ ", none: "" }[view.mark];
      const option = element("option", "", sign + view.label);
      option.value = String(index);
      picker.append(option);
    });
    picker.value = String(state.selected);
    picker.addEventListener("change", () => state.onSelect(Number(picker.value)));
    state.picker = picker;
    label.append(picker);
    return label;
  };

  // Draws all charts. All are measured first: measuring between drawings would cost a layout each.
  const drawAll = (states) => {
    const [colours, widths] = [theme(), states.map((state) => state.width())];
    states.forEach((state, index) => state.draw(colours, widths[index]));
  };

  // The mounted charts, for a script that adds data to them.
  const mounted = [];

  // Mounts all figures of the page, in the order of the data. Charts of the same points switch
  // together.
  const mountAll = (figures, charts) => {
    const states = charts.map((chart, index) => mount(figures[index], chart));
    const names = (state) => state.chart.views.map((view) => view.label).join("\n");
    for (const state of states) {
      const together = states.filter((other) => names(other) === names(state));
      state.onSelect = (index) => together.forEach((other) => other.select(index));
    }
    drawAll(states);
    mounted.push(...states);
    return states;
  };

  return { mountAll, drawAll, mounted };
})();
