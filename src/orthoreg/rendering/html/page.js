// Draws the charts of a report from the numbers in its page. This script computes no statements
// about the model. Names are escaped before plotly, which interprets some HTML, receives them.
(() => {
  "use strict";
  const report = JSON.parse(document.getElementById("report-data").textContent);
  const $ = (id) => document.getElementById(id);
  const esc = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");
  const coarse = matchMedia("(pointer: coarse)");
  // saves a chart with the page's background: its own is transparent, and letters may be light
  const save = (format) => (chart) => Plotly.downloadImage(
    { data: chart.data, layout: { ...chart.layout, paper_bgcolor: colour("paper") }, config: { displayModeBar: false } },
    { format, filename: chart.id.replace("chart", "orthoreg"), width: chart.clientWidth, height: chart.clientHeight, scale: format === "png" ? 2 : 1 });
  const config = {
    displaylogo: false, scrollZoom: false, showTips: false, doubleClick: "reset", plotlyServerURL: "",
    modeBarButtons: [[  // without buttons that send data away
      { name: "svg", title: "Download as SVG", icon: Plotly.Icons.disk, click: save("svg") },
      { name: "png", title: "Download as PNG", icon: Plotly.Icons.camera, click: save("png") },
      "zoom2d", "resetScale2d",
    ]],
  };

  // -- colours and axes ----------------------------------------------------------------
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const palette = () => Object.fromEntries(
    ["ink", "note", "line", "grid", "accent", "network", "measured", "flow", "band", "surface"].map((n) => [n, colour(n)]));
  const heat = () => [0, 1, 2, 3, 4].map((i) => [i / 4, colour(`heat-${i}`)]);
  const clear = "rgba(0,0,0,0)";
  const hover = "%{x:.4g}, %{y:.4g}<extra></extra>";

  const layout = (c, height, more = {}) => ({
    height, paper_bgcolor: clear, plot_bgcolor: clear, showlegend: false, hovermode: "closest",
    dragmode: coarse.matches ? false : "zoom",
    margin: { l: 58, r: 14, t: 14, b: 46 },
    font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: c.note },
    hoverlabel: { bgcolor: c.surface, bordercolor: c.line, font: { color: c.ink, size: 12.5 } },
    modebar: { bgcolor: clear, color: c.note, activecolor: c.accent },
    ...more,
  });
  const axis = (c, title, more = {}) => ({
    title: { text: title ? esc(title) : "", font: { size: 12.5, color: c.note }, standoff: 8 },
    gridcolor: c.grid, linecolor: c.line, zeroline: false, tickcolor: c.line, ticks: "outside",
    ticklen: 4, automargin: true, nticks: 6, exponentformat: "power", ...more,
  });
  const draw = (id, traces, shape) => {
    const place = $(id);
    place.style.height = `${shape.height}px`;
    shape.width = place.clientWidth;
    return Plotly.react(place, traces, shape, config);
  };
  const numbers = (lists) => lists.flat(2).filter((v) => v !== null && Number.isFinite(v));
  const ends = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const around = (values) => {
    const [low, high] = ends(values);
    const room = 0.06 * (high - low || 1);
    return [low - room, high + room];
  };
  // the measured range, with a margin for forecasts near it
  const nearRange = (measured, others) => {
    const [low, high] = ends(measured);
    const room = high > low ? high - low : Math.abs(high) || 1;
    const near = others.filter((v) => v > low - 0.6 * room && v < high + 0.6 * room);
    const [a, b] = ends([low, high, ...near]);
    return [a - 0.06 * room, b + 0.06 * room];
  };

  // a name above a panel, where there is room for long names
  const above = (c, text, y) => ({ text: esc(text), x: 0, xref: "paper", y, yref: "paper", xanchor: "left", yanchor: "bottom", yshift: 2, showarrow: false, font: { size: 12.5, color: c.ink } });

  // stacked panels that share the horizontal axis
  const rows = (c, panels, title) => {
    const gap = 36;
    const top = 24, bottom = 50;
    const heights = panels.map((p) => p.height);
    const inner = heights.reduce((a, b) => a + b, 0) + gap * (panels.length - 1);
    const shape = layout(c, inner + top + bottom, { margin: { l: 50, r: 14, t: top, b: bottom }, annotations: [] });
    let from = 0;
    panels.forEach((panel, i) => {
      const key = i ? `yaxis${i + 1}` : "yaxis";
      const begin = 1 - (from + panel.height) / inner;
      const domain = [Math.max(begin, 0), Math.min(1 - from / inner, 1)];
      shape[key] = axis(c, "", { domain, range: panel.range, nticks: 4, anchor: "x" });
      shape.annotations.push(above(c, panel.title, domain[1]));
      from += panel.height + gap;
    });
    const last = panels.length > 1 ? `y${panels.length}` : "y";
    shape.xaxis = axis(c, title, { anchor: last });
    return shape;
  };

  // -- forecasts -----------------------------------------------------------------------
  const drawForecast = () => {
    const all = report.forecasts, c = palette();
    const run = all.runs[$("forecast-run") ? +$("forecast-run").value : 0];
    const traces = [], panels = [];
    const many = run.times.length > 150;
    all.states.forEach((name, i) => {
      const y = i ? `y${i + 1}` : "y";
      const known = run.low[i].some((v) => v !== null);
      if (known) {
        traces.push({ x: run.forecast_times, y: run.high[i], yaxis: y, mode: "lines", line: { width: 0 }, hoverinfo: "skip" });
        traces.push({ x: run.forecast_times, y: run.low[i], yaxis: y, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: c.band, hoverinfo: "skip" });
      }
      traces.push({ x: run.times, y: run.measured[i], yaxis: y, mode: "markers", marker: { color: c.measured, size: many ? 3.5 : 6 }, hovertemplate: hover });
      traces.push({ x: run.forecast_times, y: run.forecast[i], yaxis: y, mode: "lines", line: { color: c.accent, width: 2 }, hovertemplate: hover });
      panels.push({ title: name, height: all.states.length > 3 ? 120 : 160, range: nearRange(numbers([run.measured[i]]), numbers([run.forecast[i]])) });
    });
    all.inputs.forEach((name, k) => {
      const i = all.states.length + k, y = i ? `y${i + 1}` : "y";
      traces.push({ x: run.input_times[k], y: run.inputs[k], yaxis: y, mode: "lines", line: { color: c.measured, width: 1.4, shape: all.held[k] ? "hv" : "linear" }, hovertemplate: hover });
      panels.push({ title: name, height: 70, range: nearRange(numbers([run.inputs[k]]), []) });
    });
    const shape = rows(c, panels, all.time);
    const line = (x, dash) => ({ type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color: c.ink, width: 1.2, dash } });
    shape.shapes = [];
    if (run.left !== null) shape.shapes.push(line(run.left, "dash"));
    if (run.lost !== null) shape.shapes.push(line(run.lost, "dot"));
    if (run.ended !== null) shape.shapes.push(line(run.ended, "solid"));
    return draw("chart-forecast", traces, shape);
  };

  // -- phase portrait ------------------------------------------------------------------
  const part = () => {
    const picked = document.querySelector("#phase-part input:checked");
    return picked ? picked.value : "whole";
  };
  const drawPhase = () => {
    const all = report.phase, c = palette();
    if (all.rate) return drawRate(all.rate, c);
    const one = all.portraits[$("phase-pair") ? +$("phase-pair").value : 0];
    const flow = one[part()] || one.whole;
    const tint = part() === "network" ? c.network : c.flow;
    const traces = [
      { x: flow.x, y: flow.y, mode: "lines", line: { color: tint, width: 1 }, hoverinfo: "skip" },
      { x: flow.heads_x, y: flow.heads_y, mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: tint, hoverinfo: "skip" },
      { x: one.runs_x, y: one.runs_y, mode: "lines", line: { color: c.ink, width: 1.3 }, opacity: 0.85, hoverinfo: "skip" },
      { x: one.starts_x, y: one.starts_y, mode: "markers", marker: { color: c.ink, size: 6 }, hovertemplate: hover },
    ];
    traces.push({ x: one.rests_x, y: one.rests_y, text: one.rests_kind, mode: "markers", hovertemplate: "%{text}<br>%{x}, %{y}<extra></extra>",
      marker: { color: c.accent, size: 10, symbol: one.rests_symbol, line: { color: c.accent, width: 2 } } });
    const width = $("chart-phase").clientWidth;
    const shape = layout(c, Math.min(520, Math.max(320, 0.62 * width)));
    shape.xaxis = axis(c, one.x_label, { range: one.x_range });
    shape.yaxis = axis(c, one.y_label, { range: one.y_range });
    return draw("chart-phase", traces, shape);
  };
  const drawRate = (rate, c) => {
    const traces = [
      { x: rate.measured_x, y: rate.measured_y, mode: "markers", marker: { color: c.measured, size: 4 }, hovertemplate: hover },
      { x: rate.x, y: rate.model, mode: "lines", line: { color: c.accent, width: 2.2 }, hovertemplate: hover },
    ];
    if (rate.network) traces.push({ x: rate.x, y: rate.equations, mode: "lines", line: { color: c.accent, width: 1.6, dash: "dash" }, hovertemplate: hover });
    const shape = layout(c, 360);
    shape.xaxis = axis(c, rate.x_label);
    shape.yaxis = axis(c, rate.y_label, { zeroline: true, zerolinecolor: c.line });
    return draw("chart-phase", traces, shape);
  };

  // -- residual map --------------------------------------------------------------------
  const drawResidual = () => {
    const c = palette(), width = $("chart-residual").clientWidth;
    const one = report.residual[$("residual-equation") ? +$("residual-equation").value : 0];
    const shows = [...document.querySelectorAll("#residual-show input:checked")].map((box) => box.value);
    if (!one.y.length) {
      const shape = layout(c, 340);
      shape.xaxis = axis(c, one.x_label);
      shape.yaxis = axis(c, "size of the network's part", { rangemode: "tozero" });
      return draw("chart-residual", [{ x: one.x, y: one.values, mode: "lines", line: { color: c.network, width: 2 }, hovertemplate: hover }], shape);
    }
    const top = quantile(numbers([one.values]), 0.98);
    const traces = [{
      type: "heatmap", x: one.x, y: one.y, z: one.values, colorscale: heat(), zmin: 0, zmax: top || 1, zsmooth: one.values.some((line) => line.includes(null)) ? false : "best", hoverongaps: false,
      hovertemplate: "%{x:.4g}, %{y:.4g}: %{z:.3g}<extra></extra>",
      colorbar: { thickness: 10, outlinewidth: 0, len: 0.9, nticks: 5, tickfont: { size: 11.5 }, exponentformat: "power" },
    }];
    if (shows.includes("density")) one.levels.forEach((level, i) => traces.push({
      type: "contour", x: one.x, y: one.y, z: one.density, showscale: false, hoverinfo: "skip",
      contours: { type: "constraint", operation: "=", value: level }, line: { color: c.accent, width: i ? 1.2 : 2 }, fillcolor: clear,
    }));
    if (shows.includes("points")) traces.push({ x: one.points_x, y: one.points_y, mode: "markers", marker: { color: c.measured, size: one.points_x.length > 100 ? 3 : 6, opacity: 0.75 }, hoverinfo: "skip" });
    if (shows.includes("region") && one.distance) traces.push({
      type: "contour", x: one.x, y: one.y, z: one.distance, showscale: false, hoverinfo: "skip",
      contours: { type: "constraint", operation: "=", value: 1 }, line: { color: c.ink, width: 1.8, dash: "dash" }, fillcolor: clear,
    });
    const shape = layout(c, Math.min(500, Math.max(320, 0.6 * width)));
    const half = (at) => 0.5 * (at[1] - at[0]);
    const whole = (at) => [at[0] - half(at), at[at.length - 1] + half(at)];
    shape.xaxis = axis(c, one.x_label, { range: whole(one.x), showgrid: false });
    shape.yaxis = axis(c, one.y_label, { range: whole(one.y), showgrid: false });
    return draw("chart-residual", traces, shape);
  };
  const quantile = (values, share) => {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
  };

  // -- number of terms -----------------------------------------------------------------
  const path = () => report.paths.equations[$("path-equation") ? +$("path-equation").value : 0];
  const resetPath = () => {
    const slider = $("path-step"), one = path();
    slider.max = one.steps.length - 1;
    slider.value = one.chosen;
  };
  const drawPath = () => {
    const c = palette(), one = path(), step = one.steps[+$("path-step").value];
    $("path-step-value").textContent = step.n_terms;
    $("path-step").setAttribute("aria-valuetext", `${step.n_terms} terms`);
    const right = step.terms.map((term) => `<span class="term">${term}</span>`).join("") || '<span class="term"><math><mn>0</mn></math></span>';
    $("path-formula").innerHTML = `<span class="left">${step.left}</span><span class="right">${right}</span>`;
    const known = one.steps.filter((s) => s.outer !== null);
    const x = known.map((s) => s.n_terms);
    const traces = [
      { x, y: known.map((s) => s.high), mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
      { x, y: known.map((s) => s.low), mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: fade(c.network), hoverinfo: "skip" },
      { x, y: known.map((s) => s.inner), mode: "lines+markers", line: { color: c.accent, width: 1.6 }, marker: { symbol: "square", size: 6, color: c.accent }, hovertemplate: hover },
      { x, y: known.map((s) => s.outer), mode: "lines+markers", line: { color: c.network, width: 2 }, marker: { size: 7, color: c.network }, hovertemplate: hover },
    ];
    const ring = (s, size, tint, width) => ({ x: [s.n_terms], y: [s.outer === null ? s.inner : s.outer], mode: "markers", marker: { size, color: clear, line: { color: tint, width } }, hoverinfo: "skip" });
    if (one.steps[one.chosen].outer !== null) traces.push(ring(one.steps[one.chosen], 16, c.ink, 2));
    const shape = layout(c, 300);
    shape.shapes = [{ type: "line", xref: "x", yref: "paper", x0: step.n_terms, x1: step.n_terms, y0: 0, y1: 1, line: { color: c.accent, width: 1.4, dash: "dot" } }];
    shape.xaxis = axis(c, "number of terms", { dtick: Math.max(1, Math.ceil(one.steps.length / 8)), range: [Math.min(...x) - 0.4, Math.max(...one.steps.map((s) => s.n_terms)) + 0.4] });
    shape.yaxis = axis(c, "relative error", { type: "log", dtick: decades(known), tickfont: { size: 10.5 } });
    const all = report.paths, panels = [], lines = [];
    all.states.forEach((name, i) => {
      const y = i ? `y${i + 1}` : "y";
      lines.push({ x: all.times, y: all.measured[i], yaxis: y, mode: "markers", marker: { color: c.measured, size: all.times.length > 100 ? 3.5 : 6 }, hovertemplate: hover });
      lines.push({ x: all.times, y: step.forecast[i], yaxis: y, mode: "lines", line: { color: c.accent, width: 2 }, hovertemplate: hover });
      panels.push({ title: name, height: 115, range: nearRange(numbers([all.measured[i]]), numbers([step.forecast[i]])) });
    });
    return Promise.all([draw("chart-path", traces, shape), draw("chart-path-forecast", lines, rows(c, panels, all.time))]);
  };
  const fade = (hex) => `${hex}2e`;
  const decades = (steps) => {
    const [low, high] = ends(numbers([steps.map((s) => s.inner), steps.map((s) => s.outer)]));
    const span = Math.log10(high / low);
    return span > 2 ? Math.ceil(span / 6) : span > 0.8 ? "D2" : undefined;
  };

  // -- coefficients --------------------------------------------------------------------
  const drawCoefficients = () => {
    const c = palette(), pick = $("coefficients-equation"), traces = [], top = 30, bottom = 50, width = $("chart-coefficients").clientWidth;
    const all = pick ? [report.coefficients[+pick.value]] : report.coefficients;
    const longest = Math.max(...all.flatMap((one) => one.labels.map((name) => name.length)));
    const beside = 8 * longest < 0.36 * width;  // otherwise each name is above its line
    const line = beside ? 34 : 44, gap = 84;
    const heights = all.map((one) => line * one.labels.length + 16);
    const inner = heights.reduce((a, b) => a + b, 0) + gap * (all.length - 1);
    const shape = layout(c, inner + top + bottom, { margin: { l: beside ? 24 + 8 * longest : 14, r: 18, t: top, b: bottom }, annotations: [] });
    let from = 0;
    all.forEach((one, i) => {
      const n = i + 1, x = i ? `x${n}` : "x", y = i ? `y${n}` : "y";
      const used = one.values.filter((v, k) => one.used[k]).map(Math.abs);
      const relative = used.length > 1 && Math.max(...used) > 15 * Math.min(...used);
      const scale = one.values.map((v) => (relative && v ? Math.abs(v) : 1));
      const at = one.labels.map((_, k) => one.labels.length - 1 - k);
      const value = (v, k) => (v === null ? null : v / scale[k]);
      const lines = { x: [], y: [] };
      one.labels.forEach((_, k) => {
        if (one.low[k] === null || one.high[k] === null) return;
        lines.x.push(value(one.low[k], k), value(one.high[k], k), null);
        lines.y.push(at[k], at[k], null);
      });
      traces.push({ ...lines, xaxis: x, yaxis: y, mode: "lines", line: { color: c.accent, width: 6 }, opacity: 0.35, hoverinfo: "skip" });
      traces.push({
        x: one.values.map(value), y: at, xaxis: x, yaxis: y, mode: "markers",
        marker: { size: 10, color: one.used.map((u) => (u ? c.accent : c.surface)), line: { color: one.used.map((u) => (u ? c.accent : c.measured)), width: 1.8 } },
        customdata: one.values.map((v, k) => [v, one.share[k] ? ` (probability ${one.share[k]})` : ""]),
        hovertemplate: "%{customdata[0]:.5g}%{customdata[1]}<extra></extra>",
      });
      const domain = [Math.max(1 - (from + heights[i]) / inner, 0), Math.min(1 - from / inner, 1)];
      shape[i ? `yaxis${n}` : "yaxis"] = axis(c, "", {
        domain, anchor: x, range: [-0.7, one.labels.length - (beside ? 0.3 : 0.1)], tickmode: "array", tickvals: at, nticks: undefined,
        ticktext: one.labels.map((name) => (beside ? esc(name) : "")), ticks: "", tickfont: { size: 12.5, color: c.ink }, automargin: false,
      });
      shape[i ? `xaxis${n}` : "xaxis"] = axis(c, relative ? "relative to each coefficient's size" : "", { anchor: y, range: around(numbers([one.values.map(value), lines.x]).concat(0)), zeroline: true, zerolinecolor: c.measured, nticks: width < 560 ? 4 : 7, automargin: false });
      shape.annotations.push({ ...above(c, one.equation, domain[1]), yshift: 6, font: { size: 13.5, color: c.accent } });
      const fits = Math.floor((width - 36) / 7);
      if (!beside) one.labels.forEach((name, k) => shape.annotations.push({
        ...above(c, name.length > fits ? `${name.slice(0, fits - 10)}…${name.slice(-9)}` : name, at[k]), yref: y, yshift: 5,
      }));
      from += heights[i] + gap;
    });
    return draw("chart-coefficients", traces, shape);
  };

  // -- errors --------------------------------------------------------------------------
  const drawErrors = () => {
    const c = palette(), one = report.diagnostics[$("errors-equation") ? +$("errors-equation").value : 0];
    const bars = layout(c, 230, { bargap: 0.35 });
    bars.xaxis = axis(c, "lag in rows", { range: [-0.7, one.lags.length - 0.3] });
    bars.yaxis = axis(c, "autocorrelation", { range: [Math.min(-0.35, ...one.correlation) - 0.05, 1.05], zeroline: true, zerolinecolor: c.line });
    bars.shapes = [one.white, -one.white].map((v) => ({ type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: v, y1: v, line: { color: c.note, width: 1, dash: "dash" } }));
    const first = draw("chart-correlation", [{ type: "bar", x: one.lags, y: one.correlation, marker: { color: c.accent }, hovertemplate: hover }], bars);
    const width = $("chart-errors").clientWidth;
    const count = one.against.length, columns = Math.min(count, width < 560 ? 1 : width < 860 ? 2 : 3), lines = Math.ceil(count / columns);
    const panel = 190, below = 66, total = lines * panel + (lines - 1) * below, traces = [];
    const shape = layout(c, total + 14 + 50, { margin: { l: 58, r: 14, t: 14, b: 50 } });
    const reach = quantile(numbers([one.against.map((a) => a.y)]).map(Math.abs), 0.99) || 1;
    one.against.forEach((a, i) => {
      const n = i + 1, x = i ? `x${n}` : "x", y = i ? `y${n}` : "y";
      const column = i % columns, line = Math.floor(i / columns), gap = 0.08;
      const wide = (1 - gap * (columns - 1)) / columns, begin = 1 - (line * (panel + below) + panel) / total;
      traces.push({ x: a.x, y: a.y, xaxis: x, yaxis: y, mode: "markers", marker: { color: c.measured, size: 3.5, opacity: 0.7 }, hovertemplate: hover });
      traces.push({ x: a.bins, y: a.means, xaxis: x, yaxis: y, mode: "lines+markers", line: { color: c.network, width: 1.8 }, marker: { size: 5, color: c.network }, error_y: { array: a.errors, color: c.network, thickness: 1.2, width: 0 }, hovertemplate: hover });
      shape[i ? `xaxis${n}` : "xaxis"] = axis(c, a.label, { domain: [column * (wide + gap), column * (wide + gap) + wide], anchor: y, nticks: 5 });
      shape[i ? `yaxis${n}` : "yaxis"] = axis(c, column ? "" : "error", { domain: [Math.max(begin, 0), Math.min(begin + panel / total, 1)], anchor: x, range: [-1.25 * reach, 1.25 * reach], zeroline: true, zerolinecolor: c.line, showticklabels: !column, nticks: 5 });
    });
    return Promise.all([first, draw("chart-errors", traces, shape)]);
  };

  // -- copying -------------------------------------------------------------------------
  const copied = (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");  // for pages without a secure context
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject();
  };
  document.querySelectorAll("button.copy").forEach((button) => {
    const label = button.textContent;
    button.addEventListener("click", () => {
      copied(button.dataset.copy).then(() => "Copied", () => "Not copied").then((word) => {
        button.textContent = word;
        setTimeout(() => { button.textContent = label; }, 1500);
      });
    });
  });

  // -- start -------------------------------------------------------------------------
  const charts = [
    [report.forecasts, drawForecast, ["forecast-run"]],
    [report.phase, drawPhase, ["phase-pair", "phase-part"]],
    [report.residual.length, drawResidual, ["residual-equation", "residual-show"]],
    [report.paths, drawPath, ["path-step"]],
    [report.coefficients.length && $("chart-coefficients"), drawCoefficients, ["coefficients-equation"]],
    [report.diagnostics.length, drawErrors, ["errors-equation"]],
  ].filter(([there]) => there);
  const drawAll = () => Promise.all(charts.map(([, one]) => one()));
  if (report.paths) {
    resetPath();
    if ($("path-equation")) $("path-equation").addEventListener("change", () => { resetPath(); drawPath(); });
  }
  for (const [, one, controls] of charts) {
    for (const id of controls) if ($(id)) $(id).addEventListener("input", one);
  }
  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 120);
  });
  // for printing: light colours, at the width of a page
  let before = null;
  addEventListener("beforeprint", () => {
    const root = document.documentElement;
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("printing");
    document.querySelectorAll(".equations details").forEach((one) => { one.open = true; });
    drawAll();
  });
  addEventListener("afterprint", () => {
    const root = document.documentElement;
    if (before !== null) root.dataset.theme = before;
    root.classList.remove("printing");
    drawAll();
  });
  document.addEventListener("themechange", () => {
    drawAll().then(() => { document.documentElement.dataset.drawn = String(charts.length); });
  });
})();
