"use strict";
// The table of numbers: its first rows, sorted by any column, found by its keys, text only.
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
  const MOST = 1000, whole = new Intl.NumberFormat("en");
  const table = document.getElementById("table"), head = table.tHead.rows[0], body = table.tBodies[0], find = document.getElementById("find");
  let columns = [], every = [], sorted = null, file = "", notes = [];

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
  const styled = (cell, c) => {
    cell.classList.toggle("text", Boolean(c.text));
    cell.classList.toggle("wide", Boolean(c.end || c.wide));
    cell.classList.toggle("muted", Boolean(c.muted));
    return cell;
  };
  const row = (pick) => {
    const made = document.createElement("tr");
    made.append(...columns.map((c, number) => {
      const cell = styled(document.createElement("td"), c), [low, high] = [columns[number + 1], columns[number + 2]];
      cell.textContent = shown(pick(c), c);
      if (!c.end && low?.end && high?.end && pick(low) !== null) {  // on a narrow screen: below the value
        cell.dataset.range = `${shown(pick(low), low)} to ${shown(pick(high), high)}`;
      }
      return cell;
    }));
    return made;
  };
  const hasFoot = () => columns.some((c) => c.foot !== undefined);
  const arrange = () => {
    const wanted = find.value.trim().toLowerCase(), keys = columns.filter((c) => c.key);
    const order = every.filter((i) => !wanted || keys.some((c) => String(c.values[i] ?? "").toLowerCase().includes(wanted)));
    if (sorted) {
      const by = compare(columns[sorted.column].values);
      order.sort((i, j) => sorted.sign * by(i, j) || i - j);
    }
    const here = order.slice(0, MOST), total = whole.format(every.length);
    body.replaceChildren(...here.map((i) => row((c) => c.values[i])));
    document.getElementById("where").textContent = here.length === every.length ? `All ${total} rows.`
      : `${whole.format(here.length)} of ${total} rows. "CSV" at the top of the page has all.`;
  };
  const heading = (c, number) => {
    const cell = styled(document.createElement("th"), c), button = document.createElement("button");
    cell.scope = "col";
    cell.setAttribute("aria-sort", "none");
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
  find.addEventListener("input", arrange);

  const show = (given, name, comments, by) => {
    [columns, file, notes] = [given, name, comments];
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
