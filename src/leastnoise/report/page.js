"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const views = {};
  let column = data.first;

  const rows = (columns) => {
    const names = Object.keys(columns);
    const count = names.length ? columns[names[0]].length : 0;
    return Array.from({ length: count }, (_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  };

  const theme = (wide) => {
    const night = dark.matches;
    const [ink, quiet, line, accent, paper, street] = night
      ? ["#e8ebee", "#a4adb7", "#39424c", "#79b8f2", "#14181d", "#4a545f"]
      : ["#1b1f24", "#57606a", "#d5dae0", "#0b5a9c", "#ffffff", "#c3cad2"];
    const ramp = night
      ? ["#26303a", "#1f4e79", "#3384c6", "#83c4f7", "#f2faff"]
      : ["#e9eef3", "#a9cbe8", "#4f95cf", "#0b5a9c", "#06203c"];
    const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
    const axis = {
      labelColor: quiet, titleColor: quiet, domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.6,
      labelFontSize: 12, titleFontSize: 12.5, titleFontWeight: "normal", labelFont: font, titleFont: font,
    };
    return {
      background: "transparent", font, axis, axisY: { labelLimit: wide < 500 ? 110 : Math.max(190, 0.3 * wide) }, view: { stroke: null },
      legend: { labelColor: quiet, labelFontSize: 12, gradientLength: 160, gradientThickness: 10, labelFont: font },
      range: { ramp, heatmap: ramp, diverging: ["#b35806", "#f1a340", night ? "#2a3139" : "#f2f2f2", "#5aa0d8", "#0b5a9c"] },
      style: {
        published: { color: accent, strokeWidth: 1.4 }, bars: { color: accent }, interval: { color: ink },
        band: { color: accent, opacity: 0.25 }, promise: { color: accent, strokeWidth: 2.2 },
        guess: { color: quiet, strokeDash: [4, 4], strokeWidth: 1.2 }, near: { color: ink },
        street: { color: street, strokeWidth: 0.6 }, scale: { color: ink, strokeWidth: 2.5 },
        zone: { strokeWidth: 0.6 },
        cell: { strokeWidth: 0 },
        beside: { color: quiet, fontSize: 11, font },
        scale_name: { color: ink, fontSize: 12, font },
        scale_halo: { color: paper, strokeWidth: 6.5, opacity: 0.85 },
        scale_name_halo: { color: paper, stroke: paper, strokeWidth: 4.5, strokeJoin: "round", opacity: 0.85, fontSize: 12, font },
      },
    };
  };

  // A long name in lines of so many letters, broken between words where it can be: none is cut.
  const wrapped = (name, letters) => {
    const lines = [""];
    for (const word of String(name).split(/\s+/).flatMap((part) => part.match(new RegExp(`.{1,${letters}}`, "gu")) ?? [])) {
      if (lines.at(-1) && lines.at(-1).length + 1 + word.length > letters) lines.push("");
      lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word;
    }
    return lines;
  };
  const nameRows = (spec, limit, along) => {
    const letters = Math.floor(limit / 7), of = (name) => wrapped(name, letters);
    const named = (spec.params ?? []).find((p) => p.name === "labels" || p.name === "names");
    const names = named ? named.value : along ? [...new Set(along)] : [];
    if (!names.some((name) => String(name).length > letters)) return 0;
    const broken = names.map(of), most = Math.max(...broken.map((each) => each.length));
    const blank = (count) => Array(count).fill("\u00a0");  // lines hang from the middle of a row, so all names get as many
    const split = broken.map((each) => [...blank(Math.floor((most - each.length) / 2)), ...each, ...blank(Math.ceil((most - each.length) / 2))]);
    spec.params = spec.params.map((p) => (p === named ? { ...p, value: split } : p.name === "wrapped" ? { ...p, value: Object.fromEntries(names.map((name, i) => [name, split[i]])) } : p));
    if (typeof spec.height === "number") spec.height = Math.max(spec.height, names.length * (14 * most + 6));
    return -7 * (most - 1);
  };

  const lines = (picture) => {
    const { x, y } = picture.columns, { edges, scale } = picture.extra, parts = [];
    for (let i = 0; i < edges.length; i += 2) {
      parts.push([[x[edges[i]], y[edges[i]]], [x[edges[i + 1]], y[edges[i + 1]]]]);
    }
    const feature = (coordinates) => ({ type: "Feature", properties: {}, geometry: { type: "MultiLineString", coordinates } });
    const named = { streets: [feature(parts)] };
    if (scale) {
      named.scale = [feature([[scale.from, scale.to]])];
      named.scale_name = [{ x: (scale.from[0] + scale.to[0]) / 2, y: scale.from[1], label: scale.label }];
    }
    return named;
  };

  const draw = async (id) => {
    const place = document.getElementById(id), picture = data.pictures[id];
    if (!place || !picture) return;
    const spec = structuredClone(picture.spec);
    spec.datasets = { bins: rows(picture.columns), ...(picture.extra.edges ? lines(picture) : {}) };
    const { shapes } = picture.extra, area = (coordinates) => ({ type: "Feature", geometry: { type: "MultiPolygon", coordinates } });
    if (shapes) spec.datasets.bins = spec.datasets.bins.map((row, i) => ({ ...row, ...area(shapes[i]) }));
    if (picture.ratio) {
      spec.height = Math.round(Math.min(place.clientWidth * picture.ratio, 0.85 * Math.max(window.innerHeight, 600), 760));
    }
    const labelOffset = nameRows(spec, place.clientWidth < 500 ? 110 : Math.max(190, 0.3 * place.clientWidth), picture.columns.along);
    const config = theme(place.clientWidth);
    config.axisY.labelOffset = labelOffset;
    const chosen = { column, paper: config.style.scale_halo.color, line: config.axis.gridColor };
    if (spec.params) spec.params = spec.params.map((p) => (p.name in chosen ? { ...p, value: chosen[p.name] } : p));
    const autosize = { type: "fit-x", contains: "padding" };
    const renderer = picture.columns[Object.keys(picture.columns)[0]].length > 500 ? "canvas" : "svg";
    if (views[id]) views[id].finalize();
    const made = await vegaEmbed(place, { autosize, ...spec, config }, { actions: false, renderer, ast: true, tooltip: { theme: "page" } });
    views[id] = made.view;
    for (const inner of place.querySelectorAll("svg, canvas, [role='graphics-document']")) {
      if (inner !== place) { inner.removeAttribute("role"); inner.removeAttribute("aria-label"); inner.setAttribute("aria-hidden", "true"); }
    }
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", picture.alt);
    place.dataset.ready = dark.matches ? "dark" : "light";
    place.dataset.column = column;
  };
  let drawing = Promise.resolve();  // one after the other: night may fall while a window is being resized
  const drawAll = () => (drawing = drawing.then(() => Promise.all(Object.keys(data.pictures).map(draw))));

  for (const choice of document.querySelectorAll("input[name='shown']")) {
    choice.addEventListener("change", async () => {
      column = choice.value;
      await views.chart.signal("column", column).runAsync();
      document.getElementById("chart").dataset.column = column;
    });
  }

  numbersTable().show(data.table, data.name, data.notes);

  dark.addEventListener("change", drawAll);
  let width = window.innerWidth, waiting;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  drawAll().then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
