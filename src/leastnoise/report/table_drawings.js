// Drawings of one column's table: bars with their intervals, or a line of steps where there are many keys.
const SVG = "http://www.w3.org/2000/svg", MAX_BARS = 40, MAX_NAMED_BARS = 120, ROW = 26, BAR = 14, THIN = 6;
const drawn = (tag, attributes = {}, text = null) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
};
const canvasOf = (width, height, ...parts) => {
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  svg.append(...parts);
  return svg;
};
const rulers = new Map();
const widthOf = (text, weight = "") => {
  if (!rulers.has(weight)) {
    rulers.set(weight, document.createElement("canvas").getContext("2d"));
    rulers.get(weight).font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  }
  return rulers.get(weight).measureText(text).width;
};
const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
const fitted = (text, room, weight = "") => {
  if (widthOf(text, weight) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && widthOf(letters.join("") + "…", weight) > room) letters.pop();
  return letters.join("") + "…";
};
// A name in lines that fit, at most so many; what is left over is cut.
const lined = (text, room, most) => {
  const lines = [""];
  const joined = (word) => (lines.at(-1) ? `${lines.at(-1)} ${word}` : word);
  for (const word of text.split(/\s+/)) {
    if (lines.at(-1) && lines.length < most && widthOf(joined(word)) > room) lines.push("");
    lines[lines.length - 1] = joined(word);
  }
  return lines.map((line) => fitted(line, room));
};
const named = (lines, x, middle) =>
  lines.map((line, k) => drawn("text", { class: "key", x, y: middle + 4 + 13 * (k - (lines.length - 1) / 2), "text-anchor": "end" }, line));
const everyNth = (count, most) => Math.max(1, Math.ceil(count / Math.max(1, most)));
const roundTicks = (low, high, most) => {
  const raw = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= raw * 0.999);
  const first = Math.ceil(low / step), last = Math.floor(high / step);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
};
const amount = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

// From the least to the most of all that is shown, and from zero.
const reach = (view) => {
  let low = 0, high = 0;
  for (const value of view.values) { low = Math.min(low, value - view.half); high = Math.max(high, value + view.half); }
  for (const value of view.denoised ?? []) { low = Math.min(low, value); high = Math.max(high, value); }
  return low < high ? [low, high] : [0, 1];
};

const bars = (width, view) => {
  const keys = view.axes[0].keys.map(String), amounts = Array.from(view.values, view.short);
  const left = Math.min(widest(keys) + 10, width * 0.36), right = widest(amounts) + 10;
  const names = keys.map((key) => lined(key, left - 10, 4)), tall = 13 * Math.max(...names.map((lines) => lines.length)) + 6;
  const row = Math.max(tall, view.denoised ? ROW + THIN : ROW);
  const [low, high] = reach(view), height = row * keys.length, inner = width - left - right;
  const x = (value) => left + ((value - low) / (high - low)) * inner;
  const bar = (value, y, tall, kind) => drawn("rect", {
    class: kind, x: x(Math.min(0, value)), y, width: Math.max(0.5, Math.abs(x(value) - x(0))), height: tall,
  });
  const parts = [];
  for (const tick of roundTicks(low, high, Math.min(6, inner / 70))) {
    parts.push(drawn("line", { class: tick === 0 ? "zero-line" : "grid", x1: x(tick), x2: x(tick), y1: 0, y2: height }));
    parts.push(drawn("text", { x: x(tick), y: height + 16, "text-anchor": "middle" }, amount.format(tick)));
  }
  keys.forEach((key, i) => {
    const value = view.values[i], y = row * i + (row - BAR - (view.denoised ? THIN : 0)) / 2, middle = y + BAR / 2;
    parts.push(...named(names[i], left - 8, row * i + row / 2));
    parts.push(bar(value, y, BAR, view.maybeZero(i) ? "block empty" : "block"));
    parts.push(drawn("path", { class: "interval", d: `M${x(value - view.half)} ${middle - 3.5}v7m0-3.5H${x(value + view.half)}m0-3.5v7` }));
    if (view.denoised) parts.push(bar(view.denoised[i], y + BAR + 1, THIN, "block better"));
    parts.push(drawn("text", { class: "amount", x: width, y: middle + 4 }, amounts[i]));
  });
  return {
    node: canvasOf(width, height + 22, ...parts),
    locate: (_, y) => (y >= 0 && y < height ? Math.floor(y / row) : null),
    box: (i) => ({ x: 0.5, y: row * i + 0.5, width: width - 1, height: row - 1 }),
    next: (i, _, down) => Math.min(keys.length - 1, Math.max(0, i + down)),
  };
};

const steps = (width, view) => {
  const { keys, name } = view.axes[0], count = keys.length, height = 300, bottom = 44;
  const [low, high] = reach(view), ticks = roundTicks(low, high, 6);
  const left = widest(ticks.map(amount.format)) + 10, wide = (width - left - 4) / count;
  const x = (i) => left + wide * i, y = (value) => 6 + (1 - (value - low) / (high - low)) * (height - 12);
  const path = (values, shift) => Array.from(values, (v, i) => `${i ? "L" : "M"}${x(i)} ${y(v + shift)}H${x(i + 1)}`).join("");
  const back = (values, shift) => Array.from(values, (v, i) => `L${x(i + 1)} ${y(v + shift)}H${x(i)}`).reverse().join("");
  const parts = ticks.flatMap((tick) => [
    drawn("line", { class: tick === 0 ? "zero-line" : "grid", x1: left, x2: width - 4, y1: y(tick), y2: y(tick) }),
    drawn("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, amount.format(tick)),
  ]);
  parts.push(drawn("path", { class: "band", d: `${path(view.values, view.half)}${back(view.values, -view.half)}z` }));
  const empty = Array.from(view.values, (_, i) => (view.maybeZero(i) ? `M${x(i)} ${height}h${wide}v7h${-wide}z` : "")).join("");
  parts.push(drawn("path", { class: "block empty", d: empty }), drawn("path", { class: "published", d: path(view.values, 0) }));
  if (view.denoised) parts.push(drawn("path", { class: "denoised", d: path(view.denoised, 0) }));
  const names = keys.map((key) => fitted(String(key), 110)), nth = everyNth(count, (width - left) / (widest(names) + 14));
  names.forEach((key, i) => {
    if (i % nth === 0) parts.push(drawn("text", { class: "key", x: x(i + 0.5), y: height + 22, "text-anchor": "middle" }, key));
  });
  parts.push(drawn("text", { class: "title", x: (left + width) / 2, y: height + bottom - 4, "text-anchor": "middle" }, fitted(name, width - left, "600")));
  return {
    node: canvasOf(width, height + bottom, ...parts),
    locate: (at) => (at >= left && at < width - 4 ? Math.min(count - 1, Math.floor((at - left) / wide)) : null),
    box: (i) => ({ x: x(i), y: 0, width: wide, height: height + 7 }),
    next: (i, right) => Math.min(count - 1, Math.max(0, i + right)),
  };
};
