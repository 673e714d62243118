// The page of a set of tables: which is chosen, what is shown of it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const doubles = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)), held = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, i) => held.getFloat64(8 * i, true));
  };
  const published = doubles(data.values), denoised = data.denoised === null ? null : doubles(data.denoised);
  const tables = data.tables.map((table) => ({ ...table, title: table.columns.map((c) => data.columns[c].title).join(" × ") || "The total" }));
  const whole = new Intl.NumberFormat("en"), dark = window.matchMedia("(prefers-color-scheme: dark)");
  const numbers = numbersTable(), panels = document.getElementById("panels"), legend = document.getElementById("legend");
  let view = null, printing = false, started = false;

  const element = (tag, text = "", name = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const formatted = (decimals) =>
    new Intl.NumberFormat("en", decimals < 20 ? { maximumFractionDigits: Math.max(0, decimals) } : { maximumSignificantDigits: 5 });

  // Names beside, numbers above; of several columns the two with the most keys.
  const orientation = (axes) => {
    const order = axes.map((_, i) => i).sort((i, j) => axes[j].keys.length - axes[i].keys.length || i - j);
    const [one, other] = order.slice(0, 2).sort((i, j) => i - j);
    if (axes[one].text !== axes[other].text) return axes[one].text ? [one, other] : [other, one];
    return axes[one].keys.length > 24 && axes[one].keys.length > axes[other].keys.length ? [other, one] : [one, other];
  };
  const viewOf = (table) => {
    const axes = table.columns.map((c) => data.columns[c]), strides = axes.map(() => 1);
    for (let i = axes.length - 2; i >= 0; i -= 1) strides[i] = strides[i + 1] * axes[i + 1].keys.length;
    const values = published.subarray(table.at, table.at + table.cells);
    const beside = denoised === null || table.kept ? null : denoised.subarray(table.at, table.at + table.cells);
    const [down, across] = axes.length > 1 ? orientation(axes) : [0, 0];
    const long = formatted(table.decimals), brief = formatted(table.decimals - 2);
    const made = {
      table, axes, values, half: table.half, down, across, fixed: axes.map(() => 0),
      beside, denoised: table.better === false ? null : beside,  // drawn only where it is better beyond chance
      long: long.format, short: (value) => brief.format(value).replace(/^-(?=[0.]*$)/, ""),
      maybeZero: (k) => values[k] <= table.half,  // no cell is negative in truth
      keyOf: (k, axis) => axes[axis].keys[Math.floor(k / strides[axis]) % axes[axis].keys.length],
      at: (i, j) => made.fixed.reduce((sum, key, axis) => sum + strides[axis] * (axis === made.down ? i : axis === made.across ? j : key), 0),
      placeOf: (k) => [made.down, made.across].map((axis) => Math.floor(k / strides[axis]) % axes[axis].keys.length),
    };
    return made;
  };

  const words = (k) => {
    const lines = view.axes.map((axis, i) => element("p", `${axis.title}: ${view.keyOf(k, i)}`));
    const value = element("p");
    value.append(element("strong", view.long(view.values[k])), ` (${view.long(view.values[k] - view.half)} to ${view.long(view.values[k] + view.half)})`);
    lines.push(value);
    if (view.denoised) lines.push(element("p", `denoised ${view.long(view.denoised[k])}`));
    if (view.maybeZero(k)) lines.push(element("p", "cannot be told from zero", "quiet"));
    return lines;
  };
  const plot = (title, what, make) => {
    const figure = element("div"), place = element("div", "", "plot"), tip = element("div", "", "tip");
    if (title) figure.append(element("h4", title));
    figure.append(place);
    panels.append(figure);
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-label", `${what} of ${view.table.title}${title ? `, ${title.toLowerCase()}` : ""}. Arrow keys move from cell to cell; the table below has the numbers.`);
    tip.setAttribute("role", "status");
    return { place, tip, make };
  };
  const swatch = (node, text) => {
    const made = element("span");
    made.append(node, text);
    return made;
  };
  const sample = (...parts) => canvasOf(22, 14, ...parts);
  const hatched = () => sample(drawn("rect", { class: "empty-cells", width: 14, height: 14, x: 4 }), drawn("path", { class: "hatch", d: "M6 12L16 2" }));
  const scale = (shades) => {
    const made = element("div", "", "scale"), ramp = element("div", "", "ramp"), ends = element("div", "", "amounts");
    ramp.style.background = `linear-gradient(to right, ${shades.ramp.join(",")})`;
    ends.append(...shades.ends.map((end) => element("span", amount.format(Number(end.toPrecision(3))))));
    made.append(ramp, ends);
    return made;
  };
  const CANNOT = "cannot be told from zero";
  const drawMaps = () => {
    const shades = shadesOf(view, dark.matches && !printing);
    legend.replaceChildren(scale(shades), swatch(hatched(), CANNOT));
    const made = [plot(view.denoised ? "Published" : "", "Heat map", (wide) => heatMap(wide, view, view.values, shades, true))];
    if (view.denoised) made.push(plot("Denoised", "Heat map", (wide) => heatMap(wide, view, view.denoised, shades, false)));
    return made;
  };
  const drawOneWay = () => {
    const few = view.values.length <= (view.axes[0].text ? MAX_NAMED_BARS : MAX_BARS), make = few ? bars : steps;
    const interval = few
      ? sample(drawn("rect", { class: "block", width: 22, height: 10, y: 2 }), drawn("path", { class: "interval", d: "M9 3.5v7m0-3.5h12m0-3.5v7" }))
      : sample(drawn("rect", { class: "band", width: 22, height: 14 }), drawn("path", { class: "published", d: "M0 7h22" }));
    const items = [swatch(interval, "published, with its 95 % interval")];
    if (view.denoised) items.push(swatch(sample(few ? drawn("rect", { class: "block better", width: 22, height: THIN, y: 4 }) : drawn("path", { class: "denoised", d: "M0 7h22" })), "denoised"));
    items.push(swatch(sample(drawn("rect", { class: "block empty", x: 1, y: 2, width: 20, height: 10 })), CANNOT));
    legend.replaceChildren(...items);
    return [plot("", few ? "Bars" : "Line", (wide) => make(wide, view))];
  };
  const draw = () => {
    if (view === null) return;
    panels.replaceChildren();
    panels.classList.toggle("two", view.axes.length > 1 && view.denoised !== null);
    legend.replaceChildren();
    if (!view.axes.length) {
      const [value] = view.values;
      panels.append(element("p", view.short(value), "only"));
      panels.append(element("p", `95 % interval: ${view.long(value - view.half)} to ${view.long(value + view.half)}.${view.denoised ? ` Denoised: ${view.long(view.denoised[0])}.` : ""}`));
      return;
    }
    const plots = (view.axes.length > 1 ? drawMaps() : drawOneWay()).map(({ place, tip, make }) => {
      const chart = make(place.clientWidth), mark = drawn("g");
      chart.node.append(mark);
      place.append(chart.node, tip);
      return { place, chart, mark, tip };
    });
    pointing(plots, words, view.axes.length > 1 ? view.at(0, 0) : 0);
  };

  const choice = (label, options, value, change) => {
    const made = element("label", label), select = document.createElement("select");
    select.append(...options.map((text, i) => { const option = element("option", String(text)); option.value = i; return option; }));
    select.value = value;
    select.addEventListener("change", () => {
      change(Number(select.value));
      slices();
      draw();
      [...document.querySelectorAll("#slices select")].find((other) => other.dataset.of === select.dataset.of)?.focus();
    });
    select.dataset.of = label;
    made.append(" ", select);
    return made;
  };
  // Three columns or more: two are drawn, and each other is held at one of its keys.
  const slices = () => {
    const names = view.axes.map((axis) => axis.title), made = [];
    const turn = (side, other) => (axis) => {
      if (axis === view[other]) view[other] = view[side];
      view[side] = axis;
    };
    if (view.axes.length > 2) {
      view.axes.forEach((axis, i) => {
        if (i !== view.down && i !== view.across) made.push(choice(axis.title, axis.keys, view.fixed[i], (key) => { view.fixed[i] = key; }));
      });
      made.push(choice("Down", names, view.down, turn("down", "across")), choice("Across", names, view.across, turn("across", "down")));
    }
    document.getElementById("slices").replaceChildren(...made);
  };
  const showNumbers = () => {
    const { axes, values, half, table } = view, every = Array.from(values, (_, k) => k);
    const column = (title, held, more = {}) => ({ title, key: false, text: false, decimals: table.decimals, missing: "", values: held, ...more });
    const shown = axes.map((axis, i) => column(axis.title, every.map((k) => view.keyOf(k, i)), { key: true, head: axis.name, text: axis.keys.some((key) => typeof key === "string") }));
    shown.push(column("Published", Array.from(values)), column("Low", Array.from(values, (v) => v - half), { end: true }), column("High", Array.from(values, (v) => v + half), { end: true }));
    if (view.beside) shown.push(column(view.denoised ? "Denoised" : "Denoised, not better", Array.from(view.beside)));
    shown.push(column("Could be zero", every.map((k) => (view.maybeZero(k) ? "yes" : "")), { text: true, wide: true }));
    const file = [data.name, ...axes.map((axis) => axis.name)].join("-").replace(/[^\p{L}\p{N}_-]+/gu, "_");
    numbers.show(shown, file, data.notes);
  };
  const factsOf = (table) => {
    const cells = table.cells === 1 ? "1 cell" : `${whole.format(table.cells)} cells`;
    const parts = [`${cells}. 95 % of the time noise moves each by at most ${formatted(table.decimals).format(table.half)}.`];
    if (table.zero !== null && table.cells > 1) {
      parts.push(table.zero ? `${whole.format(table.zero)} of them cannot be told from zero.` : "All can be told from zero.");
    }
    if (table.error !== null) parts.push(`Denoised: the error of a cell is ${table.error}.`);
    if (table.kept) parts.push("Denoising kept this table as it was published.");
    else if (table.better === false) parts.push("That is not better beyond chance, so what was published is drawn alone.");
    return parts.join(" ");
  };
  const choose = (number) => {
    const table = tables[number], held = table.at !== null;
    document.getElementById("chosen").textContent = table.title;
    document.getElementById("facts").textContent = factsOf(table);
    document.getElementById("numbers").hidden = !held;
    document.getElementById("find").value = "";
    view = held ? viewOf(table) : null;
    if (held) {
      slices();
      draw();
      showNumbers();
    } else {
      document.getElementById("slices").replaceChildren();
      legend.replaceChildren();
      panels.classList.remove("two");
      const names = table.columns.map((c) => JSON.stringify(data.columns[c].name)).join(", ");
      const code = element("pre");
      code.append(element("code", `import leastnoise as ln\n\nprint(ln.load("${data.file}")[${names}].to_pandas())`));
      panels.replaceChildren(element("p", "The cells of this table are not in this page. The file of the release has them:"), code);
    }
    if (!started) return;  // an address is given to what somebody chose
    try { history.replaceState(null, "", `#table=${addressOf(table)}`); } catch { /* a place that has no history */ }
  };
  const addressOf = (table) => table.columns.map((c) => encodeURIComponent(data.columns[c].name.replace(/\p{Cs}/gu, "?"))).join(",");

  const list = tableList(tables, choose);
  const named = () => {
    const wanted = /^#table=(.*)$/.exec(location.hash)?.[1];
    return tables.findIndex((table) => addressOf(table) === wanted);
  };
  const first = [named(), tables.findIndex((table) => table.columns.length === 2 && table.at !== null), tables.findIndex((table) => table.at !== null), 0];
  list.select(first.find((number) => number >= 0));
  started = true;
  window.addEventListener("hashchange", () => { if (named() >= 0) list.select(named()); });

  dark.addEventListener("change", draw);
  for (const [event, value] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => { printing = value; draw(); });
  }
  let width = window.innerWidth, waiting;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  document.documentElement.dataset.drawn = "yes";
})();
