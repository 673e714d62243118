"use strict";
// The table of numbers: a page of rows at a time, sorted by any column, found by its keys, text only.
// A column may be an `end` of the interval of the column before it, or for a `wide` screen only. Where columns have a
// `foot`, it is one more row, below all others however they are sorted.

// A cell as `to_csv` writes it: texts quoted, on one line, with an apostrophe before what a spreadsheet would run as a
// formula (behind blanks, and with wide signs, too). A whole number of many digits is a text here, and runs nothing.
const csvCell = (value) => {
  if (typeof value === "number") return String(value);
  if (/^-?\d+$/.test(value)) return value;
  const line = value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/gu, " ");
  const formula = /^[\s\ufeff\u200b-\u200f\u2060]*[=+\-@\uff1d\uff0b\uff0d\uff20]/u.test(line);
  return value === "" ? "" : `"${formula ? "'" : ""}${line.replaceAll('"', '""')}"`;
};

const numbersTable = () => {
  const PAGE = 20, PRINTED = 1000, whole = new Intl.NumberFormat("en");
  const table = document.getElementById("table"), head = table.tHead.rows[0], body = table.tBodies[0];
  let columns = [], every = [], order = [], page = 0, sorted = null, file = "", notes = [];

  const shown = (value, { key, missing, format }) => {
    if (value === null || value === undefined || Number.isNaN(value)) return missing;
    if (key && typeof value === "number") return String(Number(value.toPrecision(15)));  // 0.30000000000000004 is 0.3
    return typeof value === "number" && format ? format(value) : String(value);
  };
  const compare = (values) => (i, j) => {
    const a = values[i], b = values[j];
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const row = (pick) => {
    const made = document.createElement("tr");
    made.append(...columns.map((c, number) => {
      const cell = document.createElement("td");
      cell.textContent = shown(pick(c), c);
      if (c.text) cell.className = "text";
      if (c.end || c.wide) cell.classList.add("wide");
      if (c.muted) cell.classList.add("muted");
      const [low, high] = [columns[number + 1], columns[number + 2]];
      if (!c.end && low?.end && high?.end && pick(low) !== null) {  // on a narrow screen: below the value
        cell.dataset.range = `${shown(pick(low), low)} to ${shown(pick(high), high)}`;
      }
      return cell;
    }));
    return made;
  };
  const hasFoot = () => columns.some((c) => c.foot !== undefined);
  const fill = (here) => body.replaceChildren(...here.map((i) => row((c) => c.values[i])));
  const draw = () => {
    const last = Math.max(0, Math.ceil(order.length / PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const here = order.slice(page * PAGE, (page + 1) * PAGE);
    fill(here);
    const from = order.length ? page * PAGE + 1 : 0;
    document.getElementById("where").textContent =
      `${whole.format(from)} to ${whole.format(page * PAGE + here.length)} of ${whole.format(order.length)}`;
    document.getElementById("previous").disabled = page === 0;
    document.getElementById("next").disabled = page === last;
    document.querySelector(".pages").classList.toggle("all", last === 0);
  };
  // Paper has no pages to turn: as many rows as are bearable, and how many are missing.
  const print = () => {
    fill(order.slice(0, PRINTED));
    const printed = Math.min(PRINTED, order.length), rest = every.length - printed;
    document.getElementById("where").textContent = rest
      ? `${whole.format(printed)} of ${whole.format(every.length)} rows are printed. The other ${whole.format(rest)} are in the page itself: "Download as CSV" there has all.`
      : `All ${whole.format(printed)} rows.`;
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
    draw();
  };
  const heading = (c, number) => {
    const cell = document.createElement("th"), button = document.createElement("button");
    cell.scope = "col";
    cell.setAttribute("aria-sort", "none");
    if (c.text) cell.className = "text";
    if (c.end || c.wide) cell.classList.add("wide");
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
    return cell;
  };
  const download = () => {
    const rows = [columns.map((c) => c.head ?? c.title), ...every.map((i) => columns.map((c) => c.values[i] ?? c.missing))];
    if (hasFoot()) rows.push(columns.map((c) => c.foot ?? ""));
    const text = [...notes, ...rows.map((cells) => cells.map(csvCell).join(","))].join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = file + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  document.getElementById("previous").addEventListener("click", () => { page -= 1; draw(); });
  document.getElementById("next").addEventListener("click", () => { page += 1; draw(); });
  document.getElementById("find").addEventListener("input", arrange);
  window.addEventListener("beforeprint", print);
  window.addEventListener("afterprint", draw);

  const show = (given, name, comments, by) => {
    columns = given;
    file = name;
    notes = comments;
    sorted = by === null ? null : { column: by, sign: -1 };
    every = Array.from({ length: columns.length ? columns[0].values.length : 0 }, (_, i) => i);
    head.replaceChildren(...columns.map(heading));
    if (by !== null) head.cells[by].setAttribute("aria-sort", "descending");
    table.deleteTFoot();
    if (hasFoot()) table.createTFoot().append(row((c) => c.foot ?? null));
    arrange();
  };
  return { show, download };
};
