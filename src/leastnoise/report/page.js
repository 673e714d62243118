// The page: which table is chosen, what is shown of it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent), get = (id) => document.getElementById(id);
  const whole = new Intl.NumberFormat("en"), numbers = numbersTable(), chart = get("chart"), map = get("map"), legend = get("legend");
  let view = null, better = false, started = false;

  const decoded = (held) => {
    if (typeof held !== "string") return held;
    const bytes = Uint8Array.from(atob(held), (letter) => letter.charCodeAt(0)), doubles = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 8 }, (_, i) => { const real = doubles.getFloat64(8 * i, true); return Number.isNaN(real) ? null : real; });
  };
  const titleOf = (table) => table.title ?? (table.axes.map((a) => data.columns[a].title).join(" × ") || "The total");

  const measureOf = (given, denoised) => {
    const times = given.percent ? 100 : 1, sign = given.percent ? "%" : "", digits = Math.max(0, given.decimals), step = 10 ** Math.max(0, -given.decimals);
    const format = new Intl.NumberFormat("en", digits < 20 ? { minimumFractionDigits: digits, maximumFractionDigits: digits } : { maximumSignificantDigits: 5 });
    const values = decoded(given.values), low = given.low && decoded(given.low), high = given.high && decoded(given.high);
    const real = (held) => (k) => (held && held[k] !== null && held[k] !== undefined ? Number(held[k]) : NaN);
    const at = real(values), half = given.half ?? null;
    const minus = (text) => text.replace(/^-(?=[0.,]*$)/, "").replace("-", "−");
    const bare = (value) => minus(format.format(step > 1 ? step * Math.round((times * value) / step) : times * value));
    const made = {
      ...given, values, at, better: real(denoised),
      low: half === null ? real(low) : (k) => at(k) - half, high: half === null ? real(high) : (k) => at(k) + half,
      text: (value) => (Number.isFinite(value) ? bare(value) + sign : given.missing),
      tick: (value) => tickFormat.format(Number((times * value).toPrecision(12))).replace("-", "−") + sign,
      margin: (k) => {
        const [below, above] = [at(k) - made.low(k), made.high(k) - at(k)];
        if (!Number.isFinite(below + above)) return "";
        return bare(below) === bare(above) ? `± ${bare(above)}` : `${bare(made.low(k))} to ${bare(made.high(k))}`;
      },
    };
    return made;
  };

  // Names beside, numbers above; of several columns the two with the most keys.
  const orientation = (axes) => {
    const order = axes.map((_, i) => i).sort((i, j) => axes[j].keys.length - axes[i].keys.length || i - j);
    const [one, other] = order.slice(0, 2).sort((i, j) => i - j);
    if (axes[one].text !== axes[other].text) return axes[one].text ? [one, other] : [other, one];
    return axes[one].keys.length > 24 && axes[one].keys.length > axes[other].keys.length ? [other, one] : [one, other];
  };
  const viewOf = (table) => {
    const axes = table.axes.map((a) => data.columns[a]), strides = axes.map(() => 1);
    for (let i = axes.length - 2; i >= 0; i -= 1) strides[i] = strides[i + 1] * axes[i + 1].keys.length;
    const denoised = table.denoised ? decoded(table.denoised) : null;
    const measures = table.measures.map((given, i) => measureOf(given, i ? null : denoised));
    const [down, across] = axes.length > 1 && !table.flat ? orientation(axes) : [0, 0];
    const made = {
      table, axes, measures, down, across, cells: table.cells, fixed: axes.map(() => 0),
      hasBetter: denoised !== null && table.better !== false, get better() { return better && made.hasBetter; },
      maybeZero: (k) => table.counts && measures[0].low(k) <= 0,  // no count is negative in truth
      keyOf: (k, axis) => (table.flat ? axes[axis].keys[k] : axes[axis].keys[Math.floor(k / strides[axis]) % axes[axis].keys.length]),
      nameOf: (k) => axes.map((_, i) => named(made.keyOf(k, i))).join(", "),
      at: (i, j) => made.fixed.reduce((sum, key, axis) => sum + strides[axis] * (axis === made.down ? i : axis === made.across ? j : key), 0),
      placeOf: (k) => [made.down, made.across].map((axis) => Math.floor(k / strides[axis]) % axes[axis].keys.length),
    };
    return made;
  };
  const named = (key) => (key === null ? "none" : typeof key === "number" ? String(Number(key.toPrecision(15))) : key);

  const words = (k) => {
    const lines = view.axes.map((axis, i) => element("p", "", `${axis.title}: ${named(view.keyOf(k, i))}`));
    for (const m of view.measures.filter((each) => each.drawn)) {
      const line = element("p", "", view.measures.filter((each) => each.drawn).length > 1 ? `${m.title}: ` : "");
      line.append(element("strong", "", m.text(m.at(k))), ` ${m.margin(k)}`);
      lines.push(line);
    }
    if (view.hasBetter) lines.push(element("p", "", `denoised: ${view.measures[0].text(view.measures[0].better(k))}`));
    if (view.maybeZero(k)) lines.push(element("p", "quiet", "may be zero"));
    return lines;
  };

  const sample = (name) => element("i", `sample ${name}`);
  const legendOf = (...items) => legend.replaceChildren(...items.map((item) => element("span", "", ...item)));
  const zeros = () => Array.from({ length: view.cells }, (_, k) => k).filter(view.maybeZero).length;
  const drawLegend = (layout, numbered) => {
    const items = [];
    if (layout === "heat" || layout === "map") items.push([rampOf(view.table.shades, view.measures[0].tick)]);
    if (layout === "spread") items.push([sample("dot"), view.measures.filter((m) => m.drawn).map((m) => m.title).join(" · ")], [sample("range"), "95% interval"]);
    if (view.table.counts && !view.better && layout !== "map" && layout !== "line" && zeros()) items.push([sample("empty"), "may be zero"]);
    if (layout === "map" || layout === "line" || (layout === "heat" && !numbered)) items.push(["Point at a place to read its number."]);
    legendOf(...items);
  };
  const draw = () => {
    if (view === null) return;
    const { layout } = view.table, choice = get("shown");
    if (choice) choice.hidden = !view.hasBetter;
    chart.replaceChildren();
    chart.removeAttribute("tabindex");
    chart.removeAttribute("role");
    let numbered = false;
    if (layout === "map") map.dataset.shown = view.better ? "denoised" : "published";
    if (layout === "one") chart.append(...view.measures.filter((m) => m.drawn).map((m) => {
      const value = view.better ? m.better(0) : m.at(0);
      const made = element("p", "only", element("strong", "", m.text(value)), " ", element("span", "", view.better ? "" : m.margin(0)));
      if (view.measures.length > 1) made.append(element("small", "", m.title));
      return made;
    }));
    if (["bars", "dots", "spread"].includes(layout)) chart.append(rows(view));
    if (["line", "heat", "map"].includes(layout)) {
      const place = layout === "map" ? map : chart;
      place.tabIndex = 0;
      place.setAttribute("role", "application");
      place.setAttribute("aria-label", `${{ line: "Line", heat: "Heat map", map: "Map" }[layout]} of ${titleOf(view.table)}. Arrow keys move from cell to cell; the table below has the numbers.`);
      place.querySelector(".tip")?.remove();
      const made = layout === "map" ? mapOf(map.querySelector("svg"), data.places) : layout === "line" ? line(place.clientWidth, view) : heatMap(place.clientWidth, view);
      numbered = made.numbered;
      if (layout !== "map") place.append(made.node);
      pointing(place, made, words, layout === "heat" ? view.at(0, 0) : 0);
    }
    drawLegend(layout, numbered);
  };

  const choose = (label, options, value, change) => {
    const made = element("label", "", label, " "), select = document.createElement("select");
    select.append(...options.map((text, i) => { const option = element("option", "", String(named(text))); option.value = i; return option; }));
    select.value = value;
    select.dataset.of = label;
    select.addEventListener("change", () => {
      change(Number(select.value));
      slices();
      draw();
      [...document.querySelectorAll("#slices select")].find((other) => other.dataset.of === label)?.focus();
    });
    made.append(select);
    return made;
  };
  // Three columns or more: two are drawn, and each other is held at one of its keys.
  const slices = () => {
    const names = view.axes.map((axis) => axis.title), made = [];
    const turn = (side, other) => (axis) => {
      if (axis === view[other]) view[other] = view[side];
      view[side] = axis;
    };
    if (view.table.layout === "heat" && view.axes.length > 2) {
      view.axes.forEach((axis, i) => {
        if (i !== view.down && i !== view.across) made.push(choose(axis.title, axis.keys, view.fixed[i], (key) => { view.fixed[i] = key; }));
      });
      made.push(choose("Down", names, view.down, turn("down", "across")), choose("Across", names, view.across, turn("across", "down")));
    }
    get("slices").replaceChildren(...made);
  };
  const showNumbers = () => {
    const { table, axes, measures } = view, every = Array.from({ length: view.cells }, (_, k) => k);
    const shown = axes.map((axis, i) => ({ title: axis.title, head: axis.name, key: true, text: axis.text, missing: "none", values: every.map((k) => view.keyOf(k, i)) }));
    for (const [i, m] of measures.entries()) {
      const column = (title, values, more) => ({ title, values, missing: m.missing, format: m.text, key: false, text: false, ...more });
      const only = measures.filter((each) => each.drawn).length === 1;
      shown.push(column(m.title, m.values, { foot: table.foot && !i ? table.foot.value : undefined, muted: !m.drawn }));
      if (m.low(0) === undefined || !every.some((k) => Number.isFinite(m.low(k)))) continue;
      const exact = (held, of) => (held ? decoded(held) : every.map(of));
      shown.push(column(only ? "Low" : `${m.title} low`, exact(m.half == null && table.measures[i].low, m.low), { end: true, foot: table.foot?.low }));
      shown.push(column(only ? "High" : `${m.title} high`, exact(m.half == null && table.measures[i].high, m.high), { end: true, foot: table.foot?.high }));
    }
    if (view.hasBetter) shown.push({ title: "Denoised", values: decoded(table.denoised), format: measures[0].text, missing: "", key: false, text: false });
    if (table.foot && shown.length) shown[0].foot = table.foot.name;
    if (table.counts && zeros()) shown.push({ title: "Could be zero", values: every.map((k) => (view.maybeZero(k) ? "yes" : "")), missing: "", text: true, wide: true, key: false });
    const file = data.tables.length === 1 ? data.name : [data.name, ...axes.map((axis) => axis.name)].join("-").replace(/[^\p{L}\p{N}_-]+/gu, "_");
    numbers.show(shown, file, data.notes, table.sorted ? axes.length : null);
  };
  const factsOf = (table) => {
    const m = view?.measures[0], parts = [table.cells === 1 ? "1 number." : `${whole.format(table.cells)} numbers.`];
    if (table.half) parts.push(`Each is within ± ${m ? m.text(table.half) : table.half} of the count, 95% of the time.`);
    const many = m && table.counts ? zeros() : 0;
    if (many) parts.push(`${whole.format(many)} of them may be zero.`);
    if (table.error) parts.push(`Denoised: the error of a number is ${table.error}.`);
    if (table.better === false) parts.push("Denoising shows no clear improvement here, so these are as published.");
    return parts.join(" ");
  };
  const addressOf = (table) => table.axes.map((a) => encodeURIComponent(data.columns[a].name.replace(/\p{Cs}/gu, "?"))).join(",");
  const select = (number) => {
    const table = data.tables[number], held = table.measures.length > 0;
    view = held ? viewOf(table) : null;
    if (get("tables")) {
      get("tables").value = number;
      get("facts").textContent = factsOf(table);
    }
    get("numbers").hidden = !held;
    get("find").value = "";
    if (get("shown")) get("shown").hidden = !held;
    if (held) {
      slices();
      draw();
      showNumbers();
    } else {
      get("slices").replaceChildren();
      legend.replaceChildren();
      const names = table.axes.map((a) => JSON.stringify(data.columns[a].name)).join(", ");
      chart.replaceChildren(element("p", "", "The numbers of this table are not in this page. The file of the release has them:"),
        element("pre", "", element("code", "", `import leastnoise as ln\n\nprint(ln.load("${data.file}")[${names}].to_pandas())`)));
    }
    if (!started || data.tables.length === 1) return;  // an address is given to what somebody chose
    try { history.replaceState(null, "", `#table=${addressOf(table)}`); } catch { /* a place that has no history */ }
  };

  const list = get("tables");
  const WAYS = ["The total", "One column", "Two columns", "Three columns"];
  if (list) {
    const groups = new Map();
    data.tables.forEach((table, number) => {
      const ways = table.axes.length, option = element("option", "", `${titleOf(table)}${table.measures.length ? "" : " (in the file)"}`);
      option.value = number;
      if (!groups.has(ways)) { const group = document.createElement("optgroup"); group.label = WAYS[ways] ?? `${ways} columns`; groups.set(ways, group); }
      groups.get(ways).append(option);
    });
    list.append(...groups.values());
    list.addEventListener("change", () => select(Number(list.value)));
  }
  for (const choice of document.querySelectorAll("input[name='shown']")) {
    choice.addEventListener("change", () => { better = choice.value === "denoised"; draw(); });
    if (choice.checked) better = choice.value === "denoised";
  }
  get("csv").addEventListener("click", numbers.download);
  get("to-table")?.addEventListener("click", () => { get("numbers").open = true; });
  const wanted = () => {
    const address = /^#table=(.*)$/.exec(location.hash)?.[1];
    return data.tables.findIndex((table) => addressOf(table) === address);
  };
  const held = (columns) => data.tables.findIndex((table) => table.measures.length && (columns === null || table.axes.length === columns));
  if (data.tables.length) select([wanted(), held(1), held(2), held(null), 0].find((number) => number >= 0));
  started = true;
  window.addEventListener("hashchange", () => { if (wanted() >= 0) select(wanted()); });
  let width = window.innerWidth, waiting;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  for (const event of ["beforeprint", "afterprint"]) window.addEventListener(event, draw);
  document.documentElement.dataset.drawn = "yes";
})();
