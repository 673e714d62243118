// The list of tables: one stop for the Tab key, arrow keys inside, found by the names of columns.
const tableList = (tables, choose) => {
  const MOST = 1_000, whole = new Intl.NumberFormat("en"), half = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
  const list = document.getElementById("list"), search = document.getElementById("search");
  const WAYS = ["The total", "One column", "Two columns", "Three columns"];
  let found = [], chosen = -1;

  const option = (number) => {
    const made = document.createElement("div"), title = document.createElement("span"), note = document.createElement("span");
    made.id = `table-${number}`;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(number === chosen));
    title.textContent = tables[number].title;
    note.textContent = tables[number].at === null ? "in the file" : `± ${half.format(tables[number].half)}`;
    made.append(title, note);
    made.addEventListener("click", () => select(number));
    return made;
  };
  const draw = () => {
    const groups = [];
    for (const number of found.slice(0, MOST)) {
      const ways = tables[number].columns.length, last = groups.at(-1);
      if (last && last.ways === ways) { last.node.append(option(number)); continue; }
      const node = document.createElement("div"), heading = document.createElement("div");
      node.setAttribute("role", "group");
      heading.className = "group";
      heading.setAttribute("role", "presentation");
      heading.textContent = WAYS[ways] ?? `${ways} columns`;
      node.setAttribute("aria-label", heading.textContent);
      node.append(...(ways ? [heading] : []), option(number));
      groups.push({ ways, node });
    }
    list.replaceChildren(...groups.map(({ node }) => node));
    if (found.length > MOST) {
      const more = document.createElement("p");
      more.className = "more";
      more.textContent = `${whole.format(found.length - MOST)} more: type the name of a column.`;
      list.append(more);
    }
    document.getElementById("matches").textContent =
      found.length === tables.length ? tables.length === 1 ? "1 table" : `${whole.format(tables.length)} tables` : `${whole.format(found.length)} of ${whole.format(tables.length)} tables`;
    activate();
  };
  const activate = () => {
    const active = document.getElementById(`table-${chosen}`);
    if (active) list.setAttribute("aria-activedescendant", active.id); else list.removeAttribute("aria-activedescendant");
    return active;
  };
  const select = (number) => {
    document.getElementById(`table-${chosen}`)?.setAttribute("aria-selected", "false");
    chosen = number;
    const active = activate();
    active?.setAttribute("aria-selected", "true");
    if (active) {  // inside the list only: the page stays where it is
      const above = active.offsetTop - list.offsetTop, below = above + active.offsetHeight;
      if (above < list.scrollTop || below > list.scrollTop + list.clientHeight) list.scrollTop = (above + below - list.clientHeight) / 2;
    }
    choose(number);
  };
  const filter = () => {
    const wanted = search.value.toLowerCase().split(/[\s,×]+/).filter(Boolean);
    found = tables.map((_, i) => i).filter((i) => wanted.every((word) => tables[i].title.toLowerCase().includes(word)));
    draw();
  };
  const moves = { ArrowDown: (at) => at + 1, ArrowUp: (at) => at - 1, PageDown: (at) => at + 10, PageUp: (at) => at - 10, Home: () => 0, End: () => Infinity };
  list.addEventListener("keydown", (event) => {
    if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey || !found.length) return;
    event.preventDefault();
    const last = Math.min(found.length, MOST) - 1;
    select(found[Math.min(last, Math.max(0, moves[event.key](found.indexOf(chosen))))]);
  });
  search.addEventListener("keydown", (event) => {
    if ((event.key !== "ArrowDown" && event.key !== "Enter") || !found.length) return;
    event.preventDefault();
    list.focus();
    if (!found.includes(chosen)) select(found[0]);
  });
  search.addEventListener("input", filter);
  filter();
  return { select };
};
