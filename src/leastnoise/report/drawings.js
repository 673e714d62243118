
// Drawings of one table: rows of bars or dots, a line along an ordered column, a heat map of two.
const SVG = "http://www.w3.org/2000/svg", SHADES = 24, MAX_NAMED = 120, MOST_ROWS = 40, MOST_DOTS = 60, MOST_STEPS = 1500;
const element = (tag, name = "", ...inside) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...inside);
  return made;
};
const drawn = (tag, attributes = {}, text = null) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
};
const canvasOf = (width, height, ...parts) => {
  const svg = drawn("svg", { class: "picture", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  svg.append(...parts);
  return svg;
};
const ruler = document.createElement("canvas").getContext("2d");
const widthOf = (text) => {
  ruler.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
};
const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
const fitted = (text, room) => {
  if (widthOf(text) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && widthOf(letters.join("") + "…") > room) letters.pop();
  return letters.join("") + "…";
};
// One in 1, 2, 5, 10, 20 ... so that at most so many are named.
const everyNth = (count, most) => {
  for (let power = 1; ; power *= 10) for (const part of [1, 2, 5]) if (count / (part * power) <= Math.max(1, most)) return part * power;
};
const isNamed = (keys, place, nth) => (Number.isInteger(keys[place]) && Number.isInteger(keys[0]) ? keys[place] % nth === 0 : place % nth === 0);
const roundTicks = (low, high, most) => {
  const raw = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
};
const tickFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

// From the least to the most of what is drawn; from zero where bars are, or zero is near.
const reach = (measures, cells, zero) => {
  let low = Infinity, high = -Infinity;
  for (const m of measures) {
    for (const k of cells) {
      for (const value of [m.at(k), m.low(k), m.high(k), m.better(k)]) {
        if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
      }
    }
  }
  if (!Number.isFinite(low)) return [0, 1];
  if (zero || (low > 0 && low < 0.5 * (high - low))) { low = Math.min(low, 0); high = Math.max(high, 0); }
  const room = zero && low === 0 ? 0 : 0.03 * (high - low || 1);
  return [low - (zero && low === 0 ? 0 : room), high + (zero && high === 0 ? 0 : room) || 1];
};

// A row for each cell: its name, a bar or a dot with its interval, and the number with its margin. Several measures have
// a column each, or, where they are quantiles, one column together. It is plain text in a grid, so it needs no pointer.
const rows = (view) => {
  const shown = view.measures.filter((m) => m.drawn), spread = view.table.layout === "spread", bars = view.table.layout === "bars";
  const columns = spread ? [shown] : shown.map((m) => [m]);
  let cells = Array.from({ length: view.cells }, (_, k) => k);
  const size = (k) => { const value = view.better ? shown[0].better(k) : shown[0].at(k); return Number.isFinite(value) ? value : -Infinity; };
  if (view.table.sorted) cells.sort((i, j) => size(j) - size(i) || i - j);
  if (cells.length > MAX_NAMED) cells = cells.slice(0, MOST_ROWS);
  const grid = element("div", `rows ${columns.length > 1 ? "several" : ""}`), ends = columns.map((each) => reach(each, cells, bars));
  grid.style.setProperty("--columns", columns.length);
  const along = (value, [low, high]) => `${(100 * (value - low)) / (high - low)}%`;
  const mark = (name, from, to, end) => {
    const made = element("i", name);
    made.style.left = along(name === "whisker" || name === "range" ? (from + to) / 2 : Math.min(from, to), end);
    if (to !== from || !name.startsWith("dot")) made.style.width = `${(100 * Math.abs(to - from)) / (end[1] - end[0])}%`;
    return made;
  };
  const track = (measures, k, end) => {
    const made = element("span", "track"), better = view.better;
    if (columns.length > 1) made.dataset.of = measures[0].title;
    if (bars && end[0] < 0) made.append(mark("zero", 0, 0, end));
    const valueOf = (m) => (better ? m.better(k) : m.at(k)), told = measures.filter((m) => Number.isFinite(valueOf(m)));
    if (!told.length) made.append(element("span", "few", measures[0].missing));
    const shade = `bar${view.maybeZero(k) && !better ? " empty" : ""}${better ? " better" : ""}`;
    if (bars) made.append(...told.map((m) => mark(shade, 0, valueOf(m), end)));
    const ranged = better ? [] : told.filter((m) => Number.isFinite(m.low(k)));
    made.append(...ranged.map((m) => mark(spread ? "range" : "whisker", m.low(k), m.high(k), end)));
    if (!bars) made.append(...told.map((m) => mark(better ? "dot better" : "dot", valueOf(m), valueOf(m), end)));
    return made;
  };
  const number = (measures, k) => {
    const made = element("span", "number");
    if (!measures.some((m) => Number.isFinite(m.at(k)))) return made;
    measures.forEach((m, i) => {
      if (i) made.append(" · ");
      made.append(m.text(view.better ? m.better(k) : m.at(k)));
    });
    if (!view.better && measures.length === 1) made.append(" ", element("small", "", measures[0].margin(k)));
    return made;
  };
  if (columns.length > 1) {
    grid.append(element("span", "name"), ...shown.map((m) => element("b", "head", m.title)));
  }
  for (const k of cells) {
    grid.append(element("span", "name", view.nameOf(k)), ...columns.flatMap((each, i) => [track(each, k, ends[i]), number(each, k)]));
  }
  return grid;
};

// Values along an ordered column: dots with their intervals, or a line of steps in a band where there are many.
const line = (width, view) => {
  const m = view.measures.find((each) => each.drawn), keys = view.axes[0].keys, group = Math.ceil(view.cells / MOST_STEPS);
  const count = Math.ceil(view.cells / group), height = Math.max(240, Math.min(360, 0.45 * width)), bottom = 48, dots = count <= MOST_DOTS;
  const mean = (of) => (i) => {
    let sum = 0, n = 0;
    for (let k = i * group; k < Math.min(view.cells, (i + 1) * group); k += 1) if (Number.isFinite(of(k))) { sum += of(k); n += 1; }
    return n ? sum / n : NaN;
  };
  const value = mean(view.better ? m.better : m.at), both = [mean(m.at), mean(m.better)];
  const every = Array.from({ length: count }, (_, i) => i);
  const drawnOf = { at: both[0], better: both[1], low: group > 1 ? () => NaN : m.low, high: group > 1 ? () => NaN : m.high };
  const [low, high] = reach([drawnOf], every, false), ticks = roundTicks(low, high, 6), written = (tick) => m.tick(tick);
  const left = widest(ticks.map(written)) + 12, wide = (width - left - 8) / count;
  const x = (i) => left + wide * i, y = (v) => 8 + (1 - (v - low) / (high - low)) * (height - 16);
  const parts = ticks.flatMap((tick) => [
    drawn("path", { class: tick === 0 ? "zero-line" : "grid", d: `M${left} ${y(tick)}H${width - 8}` }),
    drawn("text", { class: "end", x: left - 8, y: y(tick) + 4 }, written(tick)),
  ]);
  const known = every.filter((i) => Number.isFinite(value(i)));
  const ranged = view.better || group > 1 ? [] : known.filter((i) => Number.isFinite(m.low(i)));
  const middle = (i) => x(i + 0.5);
  if (dots) {
    parts.push(drawn("path", { class: "thread", d: known.map((i, n) => `${n ? "L" : "M"}${middle(i)} ${y(value(i))}`).join("") }));
    parts.push(drawn("path", { class: "stroke-whisker whiskers", d: ranged.map((i) => `M${middle(i)} ${y(m.low(i))}V${y(m.high(i))}m-4 0h8M${middle(i) - 4} ${y(m.low(i))}h8`).join("") }));
    known.forEach((i) => parts.push(drawn("circle", { class: view.better ? "fill-second" : "fill-main", cx: middle(i), cy: y(value(i)), r: 4.5 })));
  } else {
    parts.push(drawn("path", { class: "band", d: ranged.map((i) => `M${x(i)} ${y(m.high(i))}h${wide}V${y(m.low(i))}h${-wide}z`).join("") }));
    const path = known.map((i, n) => `${n && known[n - 1] === i - 1 ? "V" + y(value(i)) : `M${x(i)} ${y(value(i))}`}H${x(i + 1)}`).join("");
    parts.push(drawn("path", { class: view.better ? "steps stroke-second" : "steps stroke-main", d: path }));
  }
  const names = every.map((i) => String(keys[i * group])), nth = everyNth(count, (width - left) / (Math.min(110, widest(names)) + 16));
  every.forEach((i) => {
    if (group === 1 ? isNamed(keys, i, nth) : i % nth === 0) parts.push(drawn("text", { class: "middle", x: middle(i), y: height + 20 }, fitted(names[i], 110)));
  });
  parts.push(drawn("text", { class: "middle", x: (left + width) / 2, y: height + bottom - 6 }, fitted(view.axes[0].title, width - left)));
  return {
    node: canvasOf(width, height + bottom, ...parts),
    locate: (at) => (at >= left && at < width - 8 ? Math.min(view.cells - 1, Math.floor((at - left) / wide) * group) : null),
    box: (k) => ({ x: x(Math.floor(k / group)), y: 2, width: Math.max(wide, 3), height: height - 4 }),
    next: (k, right) => Math.min(view.cells - 1, Math.max(0, k + right * group)),
  };
};

// Which shade a number has: from its least by square roots or evenly, or both ways from zero.
const shadesOf = ({ kind, low, high }) => {
  const part = (value) => Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
  const place = (value) => (kind === "root" ? Math.sqrt(part(value)) : part(value));
  return { place, name: (value) => `${kind === "both" ? "d" : "s"}${Math.round(place(value) * (SHADES - 1))}` };
};
const rampOf = (shades, format) => {
  const made = element("div", "ramp-with-numbers"), ramp = element("div", `ramp ${shades.kind === "both" ? "both" : ""}`), numbers = element("div", "amounts"), { place } = shadesOf(shades);
  for (const tick of shades.ticks) {
    const number = element("span", "", format(tick));
    number.style.left = `${100 * place(tick)}%`;
    numbers.append(number);
  }
  made.append(ramp, numbers);
  return made;
};

// Cells of one shade are one path, so that ten thousand of them draw at once.
const heatMap = (width, view) => {
  const m = view.measures.find((each) => each.drawn), value = view.better ? m.better : m.at, marked = !view.better;
  const down = view.axes[view.down], across = view.axes[view.across], { name: shade } = shadesOf(view.table.shades);
  const names = down.keys.map(String), heads = across.keys.map(String);
  const left = Math.min(Math.max(widest(names), widthOf(down.title)) + 12, width * 0.34);
  const slanting = widest(heads) + 4 > (width - left) / heads.length && heads.length <= 24;
  const wide = Math.min((width - left - 2 - (slanting ? Math.min(60, widest(heads) * 0.5) : 0)) / heads.length, 120);
  const nth = slanting ? 1 : everyNth(heads.length, (heads.length * wide) / (widest(heads) + 4));
  const high = Math.max(3, Math.min(28, 640 / names.length)), top = (slanting ? Math.min(widest(heads), 120) * 0.7 + 14 : 20) + 20;
  const gap = Math.min(wide, high) > 8 ? 1 : 0, parts = [], paths = new Map(), bottom = top + high * names.length;
  const texts = high >= 18 && wide >= 30 ? names.flatMap((_, i) => heads.map((_, j) => m.text(value(view.at(i, j))))) : [];
  const written = texts.length > 0 && widest(texts) + 8 <= wide;
  let empty = "";
  const box = (x, y) => `M${x.toFixed(2)} ${y.toFixed(2)}h${(wide - gap).toFixed(2)}v${(high - gap).toFixed(2)}h${(gap - wide).toFixed(2)}z`;
  names.forEach((_, i) => heads.forEach((_, j) => {
    const k = view.at(i, j), x = left + wide * j, y = top + high * i;
    if (!Number.isFinite(value(k))) return;
    if (marked && view.maybeZero(k)) {
      empty += box(x, y);
      return;
    }
    paths.set(shade(value(k)), (paths.get(shade(value(k))) ?? "") + box(x, y));
  }));
  for (const [name, d] of paths) parts.push(drawn("path", { class: `cells ${name}`, d }));
  const stripes = drawn("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  stripes.append(drawn("path", { d: "M0 0V5" }));
  parts.push(stripes, drawn("path", { class: "empty-cells", d: empty }), drawn("path", { class: "hatch", d: gap ? empty : "" }));
  if (written) {
    texts.forEach((text, place) => {
      const [i, j] = [Math.floor(place / heads.length), place % heads.length], k = view.at(i, j);
      const style = marked && view.maybeZero(k) ? "on-empty" : `on-${shade(value(k))}`;
      parts.push(drawn("text", { class: `middle in-cell ${style}`, x: left + wide * (j + 0.5), y: top + high * (i + 0.5) + 4 }, text));
    });
  }
  const rowNth = everyNth(names.length, (high * names.length) / 15);
  names.forEach((name, i) => {
    if (isNamed(down.keys, i, rowNth)) parts.push(drawn("text", { class: "end key", x: left - 8, y: top + high * (i + 0.5) + 4 }, fitted(name, left - 10)));
  });
  heads.forEach((name, j) => {
    if (!isNamed(across.keys, j, nth)) return;
    const x = left + wide * (j + 0.5), y = top - 7;
    const place = slanting ? { transform: `translate(${x - 3} ${y}) rotate(-45)` } : { x, y, class: "middle" };
    parts.push(drawn("text", place, slanting ? fitted(name, 120) : name));
  });
  parts.push(drawn("text", { class: "title", x: left, y: 12 }, fitted(across.title, width - left)));
  parts.push(drawn("text", { class: "title end", x: left - 8, y: top - 7 }, fitted(down.title, left - 10)));
  return {
    node: canvasOf(width, bottom + 4, ...parts), numbered: written,
    locate: (x, y) => {
      const [i, j] = [Math.floor((y - top) / high), Math.floor((x - left) / wide)];
      return i >= 0 && j >= 0 && i < names.length && j < heads.length ? view.at(i, j) : null;
    },
    box: (k) => {
      const [i, j] = view.placeOf(k);
      return { x: left + wide * j - 0.5, y: top + high * i - 0.5, width: wide - gap + 1, height: high - gap + 1 };
    },
    next: (k, right, below) => {
      const [i, j] = view.placeOf(k);
      return view.at(Math.min(names.length - 1, Math.max(0, i + below)), Math.min(heads.length - 1, Math.max(0, j + right)));
    },
  };
};

// A map that the page holds already: the nearest place to a pointer, or the zone that it is in.
const mapOf = (svg, places) => {
  const [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number), scale = () => svg.clientWidth / wide;
  const area = (k) => svg.querySelector(`[data-bin="${k}"]`);
  const nearest = (x, y) => {
    let best = null, least = 30 ** 2;
    places.x.forEach((at, k) => {
      const far = (at - x) ** 2 + (places.y[k] - y) ** 2;
      if (far < least) { least = far; best = k; }
    });
    return best;
  };
  const zone = (target) => Number(target.closest?.("[data-bin]")?.dataset.bin ?? -1);  // below 0: nothing was asked of it
  const order = places ? Array.from(places.x.keys()) : [...new Set([...svg.querySelectorAll("[data-bin]")].map((each) => Number(each.dataset.bin)))].filter((k) => k >= 0);
  return {
    node: svg,
    locate: (x, y, target) => (places ? nearest(x / scale(), y / scale()) : zone(target) < 0 ? null : zone(target)),
    box: (k) => {
      if (places) return { x: places.x[k] - 7, y: places.y[k] - 7, width: 14, height: 14 };
      const { x, y, width, height } = area(k).getBBox();
      return { x, y, width, height };
    },
    scale,
    next: (k, right, below) => order[Math.min(order.length - 1, Math.max(0, order.indexOf(k) + right + below))],
    high,
  };
};

// What a finger, a mouse or the arrow keys point at: outlined, and told in words.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const pointing = (place, chart, words, first) => {
  const mark = drawn("g"), tip = element("div", "tip");
  tip.setAttribute("role", "status");
  chart.node.append(mark);
  place.append(tip);
  let last = null;
  const clear = () => { mark.replaceChildren(); tip.replaceChildren(); place.removeAttribute("data-cell"); };
  const point = (cell) => {
    last = cell;
    const box = chart.box(cell), scale = chart.scale?.() ?? 1;
    mark.replaceChildren(drawn("rect", { class: "outline", ...box }), drawn("rect", { class: "cursor", ...box }));
    place.dataset.cell = cell;
    tip.replaceChildren(...words(cell));
    const middle = scale * (box.x + box.width / 2) - tip.offsetWidth / 2, above = scale * box.y - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(0, Math.min(place.clientWidth - tip.offsetWidth, middle))}px`;
    tip.style.top = `${above > -tip.offsetHeight ? above : scale * (box.y + box.height) + 8}px`;
  };
  const here = (event) => {
    const frame = chart.node.getBoundingClientRect();
    const cell = chart.locate(event.clientX - frame.left, event.clientY - frame.top, event.target);
    if (cell === null || Number.isNaN(cell)) clear(); else point(cell);
  };
  place.onpointermove = here;
  place.onpointerdown = here;
  place.onpointerleave = (event) => { if (event.pointerType === "mouse") clear(); };
  place.onfocus = () => { if (place.matches(":focus-visible")) point(last ?? first); };
  place.onblur = clear;
  place.onkeydown = (event) => {
    if (event.key === "Escape") clear();
    if (!(event.key in ARROWS) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    point(chart.next(last ?? first, ...ARROWS[event.key]));
  };
};
