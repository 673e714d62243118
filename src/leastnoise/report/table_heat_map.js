// A heat map of two columns. Cells of one shade are one path, so that ten thousand of them draw at once.
const SHADES = 64;
const RAMPS = {
  light: ["#e9eef3", "#a9cbe8", "#4f95cf", "#0b5a9c", "#06203c"], dark: ["#26303a", "#1f4e79", "#3384c6", "#83c4f7", "#f2faff"],
};
const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const brightness = (colour) => {
  const linear = channels(colour).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const shaded = (ramp, part) => {
  const place = part * (ramp.length - 1), at = Math.min(ramp.length - 2, Math.floor(place)), rest = place - at;
  const [from, to] = [channels(ramp[at]), channels(ramp[at + 1])];
  return "#" + from.map((c, i) => Math.round(c + (to[i] - c) * rest).toString(16).padStart(2, "0")).join("");
};

// From zero by square roots. What lies below zero is noise, and has the faintest shade.
const shadesOf = (view, dark) => {
  const most = (view.denoised ?? view.values).reduce((far, value) => Math.max(far, value), 0) || 1;
  const ramp = RAMPS[dark ? "dark" : "light"];
  return {
    ramp, ends: [0, most / 4, most],
    colours: Array.from({ length: SHADES }, (_, i) => shaded(ramp, i / (SHADES - 1))),
    of: (value) => Math.min(SHADES - 1, Math.round(Math.sqrt(Math.max(0, value) / most) * (SHADES - 1))),
  };
};

const acrossLabels = (names, wide) => {
  const longest = widest(names), count = names.length;
  if (longest + 8 <= wide) return { top: 20, nth: 1, turned: false };
  const nth = everyNth(count, (count * wide) / (longest + 12));
  if (longest <= 36 && nth > 1) return { top: 20, nth, turned: false };
  return { top: Math.min(longest, 110) * 0.7 + 14, nth: everyNth(count, (count * wide) / 15), turned: true };
};

const heatMap = (width, view, values, shades, marked) => {
  const down = view.axes[view.down], across = view.axes[view.across];
  const rows = down.keys.map(String), columns = across.keys.map(String);
  const left = Math.min(Math.max(widest(rows), widthOf(down.title, "600")) + 10, width * 0.34);
  const slant = widest(columns) * 0.5;
  let wide = Math.min((width - left - 2) / columns.length, 110);
  const labels = acrossLabels(columns, wide);
  if (labels.turned) wide = Math.min(wide, (width - left - Math.min(slant, 60)) / columns.length);
  const high = Math.max(3, Math.min(ROW, 640 / rows.length)), top = labels.top + 20, bottom = top + high * rows.length;
  const gap = Math.min(wide, high) > 8 ? 1 : 0, parts = [], paths = new Map();
  let empty = "", hatch = "";
  const roomy = high >= 18 && wide >= 30;
  const texts = roomy ? rows.flatMap((_, i) => columns.map((_, j) => view.short(values[view.at(i, j)]))) : [];
  const written = roomy && widest(texts) + 8 <= wide;
  for (let i = 0; i < rows.length; i += 1) {
    for (let j = 0; j < columns.length; j += 1) {
      const k = view.at(i, j), x = left + wide * j, y = top + high * i, w = wide - gap, h = high - gap;
      const box = `M${x.toFixed(2)} ${y.toFixed(2)}h${w.toFixed(2)}v${h.toFixed(2)}h${(-w).toFixed(2)}z`;
      if (marked && view.maybeZero(k)) {
        empty += box;
        if (gap && w >= 13) hatch += `M${x + 2} ${y + h - 2}L${x + Math.min(w, h) - 2} ${y + 2}`;
        continue;
      }
      const shade = shades.of(values[k]);
      paths.set(shade, (paths.get(shade) ?? "") + box);
    }
  }
  for (const [shade, d] of [...paths].sort((a, b) => a[0] - b[0])) parts.push(drawn("path", { d, fill: shades.colours[shade] }));
  parts.push(drawn("path", { class: "empty-cells", d: empty }), drawn("path", { class: "hatch", d: hatch }));
  if (written) {
    texts.forEach((text, place) => {
      const [i, j] = [Math.floor(place / columns.length), place % columns.length], k = view.at(i, j);
      const pale = marked && view.maybeZero(k);
      // Black or white, whichever stands out more: 4.5 to 1 on every shade.
      const style = pale ? "" : `fill:${brightness(shades.colours[shades.of(values[k])]) > 0.179 ? "#000000" : "#ffffff"}`;
      parts.push(drawn("text", { class: "in-cell", x: left + wide * (j + 0.5), y: top + high * (i + 0.5) + 4, style }, text));
    });
  }
  const nth = everyNth(rows.length, (high * rows.length) / 14);
  rows.forEach((name, i) => {
    if (i % nth === 0) parts.push(...named(lined(name, left - 9, Math.max(1, Math.floor(high / 13))), left - 7, top + high * (i + 0.5)));
  });
  columns.forEach((name, j) => {
    if (j % labels.nth) return;
    const x = left + wide * (j + 0.5), y = top - 7;
    const place = labels.turned ? { transform: `translate(${x - 3} ${y}) rotate(-45)` } : { x, y, "text-anchor": "middle" };
    parts.push(drawn("text", { class: "key", ...place }, labels.turned ? fitted(name, 110) : name));
  });
  parts.push(drawn("text", { class: "title", x: left, y: 12 }, fitted(across.title, width - left, "600")));
  parts.push(drawn("text", { class: "title", x: left - 7, y: top - 7, "text-anchor": "end" }, fitted(down.title, left - 9, "600")));
  return {
    node: canvasOf(width, bottom + 4, ...parts),
    locate: (x, y) => {
      const [i, j] = [Math.floor((y - top) / high), Math.floor((x - left) / wide)];
      return i >= 0 && j >= 0 && i < rows.length && j < columns.length ? view.at(i, j) : null;
    },
    box: (k) => {
      const [i, j] = view.placeOf(k);
      return { x: left + wide * j - 0.5, y: top + high * i - 0.5, width: wide - gap + 1, height: high - gap + 1 };
    },
    next: (k, right, below) => {
      const [i, j] = view.placeOf(k);
      return view.at(Math.min(rows.length - 1, Math.max(0, i + below)), Math.min(columns.length - 1, Math.max(0, j + right)));
    },
  };
};
