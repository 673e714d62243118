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
      background: "transparent", font, axis, axisY: { labelLimit: wide < 500 ? 110 : 190 }, view: { stroke: null },
      legend: { labelColor: quiet, labelFontSize: 12, gradientLength: 160, gradientThickness: 10, labelFont: font },
      range: { ramp, heatmap: ramp, diverging: ["#b35806", "#f1a340", night ? "#2a3139" : "#f2f2f2", "#5aa0d8", "#0b5a9c"] },
      style: {
        published: { color: accent, strokeWidth: 1.4 }, bars: { color: accent }, interval: { color: ink },
        band: { color: accent, opacity: 0.25 }, promise: { color: accent, strokeWidth: 2.2 },
        guess: { color: quiet, strokeDash: [4, 4], strokeWidth: 1.2 }, near: { color: ink },
        street: { color: street, strokeWidth: 0.6 }, scale: { color: ink, strokeWidth: 2.5 },
        scale_name: { color: ink, fontSize: 12, font },
      },
    };
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
    if (picture.ratio) {
      spec.height = Math.round(Math.min(place.clientWidth * picture.ratio, 0.85 * Math.max(window.innerHeight, 600), 760));
    }
    if (spec.params) spec.params = spec.params.map((p) => (p.name === "column" ? { ...p, value: column } : p));
    const autosize = { type: "fit-x", contains: "padding" };
    const renderer = picture.columns[Object.keys(picture.columns)[0]].length > 500 ? "canvas" : "svg";
    if (views[id]) views[id].finalize();
    const made = await vegaEmbed(place, { autosize, ...spec, config: theme(place.clientWidth) }, { actions: false, renderer, ast: true, tooltip: { theme: "page" } });
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

  // The table: a page of rows at a time, sorted by any column, text only.
  const table = document.getElementById("table"), head = table.tHead.rows[0], body = table.tBodies[0];
  const columns = data.table, size = columns.length ? columns[0].values.length : 0, PAGE = 20;
  const formats = columns.map(({ decimals }) =>
    new Intl.NumberFormat("en", decimals < 20 ? { maximumFractionDigits: decimals } : { maximumSignificantDigits: 5 }));
  const whole = new Intl.NumberFormat("en");
  const shown = (value, { key, missing }, format) => {
    if (value === null) return missing;
    if (typeof value !== "number") return String(value);
    if (key) return String(Number(value.toPrecision(15)));  // 0.30000000000000004 is 0.3 to people
    return Number.isInteger(value) ? whole.format(value) : format.format(value);
  };
  const every = Array.from({ length: size }, (_, i) => i);
  let order = every, page = 0, sorted = null;

  const compare = (values) => (i, j) => {
    const a = values[i], b = values[j];
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const show = () => {
    const last = Math.max(0, Math.ceil(order.length / PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const here = order.slice(page * PAGE, (page + 1) * PAGE);
    body.replaceChildren(...here.map((i) => {
      const row = document.createElement("tr");
      row.append(...columns.map((c, number) => {
        const cell = document.createElement("td");
        cell.textContent = shown(c.values[i], c, formats[number]);
        if (c.text) cell.className = "text";
        return cell;
      }));
      return row;
    }));
    const from = order.length ? page * PAGE + 1 : 0;
    document.getElementById("where").textContent =
      `${whole.format(from)} to ${whole.format(page * PAGE + here.length)} of ${whole.format(order.length)}`;
    document.getElementById("previous").disabled = page === 0;
    document.getElementById("next").disabled = page === last;
  };
  const arrange = () => {
    const wanted = document.getElementById("find").value.trim().toLowerCase();
    const keys = columns.filter((c) => c.key);
    order = wanted
      ? every.filter((i) => keys.some((c) => String(c.values[i] ?? "").toLowerCase().includes(wanted)))
      : every.slice();
    if (sorted) {
      const by = compare(columns[sorted.column].values);
      order.sort((i, j) => sorted.sign * by(i, j) || i - j);
    }
    page = 0;
    show();
  };
  columns.forEach((c, number) => {
    const cell = document.createElement("th"), button = document.createElement("button");
    cell.scope = "col";
    cell.setAttribute("aria-sort", "none");
    if (c.text) cell.className = "text";
    button.type = "button";
    button.textContent = c.title;
    button.addEventListener("click", () => {
      const down = sorted && sorted.column === number ? sorted.sign < 0 : Boolean(c.key);
      sorted = { column: number, sign: down ? 1 : -1 };
      [...head.cells].forEach((other) => other.setAttribute("aria-sort", "none"));
      cell.setAttribute("aria-sort", down ? "ascending" : "descending");
      arrange();
    });
    cell.append(button);
    head.append(cell);
  });
  document.getElementById("previous").addEventListener("click", () => { page -= 1; show(); });
  document.getElementById("next").addEventListener("click", () => { page += 1; show(); });
  document.getElementById("find").addEventListener("input", arrange);
  show();

  // Text that a spreadsheet would run as a formula gets an apostrophe before it.
  const quoted = (value) => {
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !/^-?\d+$/.test(value) ? `'${value}` : value;
    const text = String(safe);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  document.getElementById("download").addEventListener("click", () => {
    const text = [columns.map((c) => quoted(c.title)), ...every.map((i) => columns.map((c) => quoted(c.values[i] ?? c.missing)))]
      .map((cells) => cells.join(",")).join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = data.name + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });

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
