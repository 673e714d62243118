// What a finger, a mouse or the arrow keys point at: outlined in every drawing of the table, and told in words.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const pointing = (plots, words, first) => {
  let last = null;
  const clear = () => {
    for (const { place, mark, tip } of plots) { mark.replaceChildren(); tip.replaceChildren(); place.removeAttribute("data-cell"); }
  };
  const point = (cell, at) => {
    last = cell;
    for (const { place, chart, mark, tip } of plots) {
      const box = chart.box(cell);
      mark.replaceChildren(drawn("rect", { class: "outline", ...box }), drawn("rect", { class: "cursor", ...box }));
      place.dataset.cell = cell;
      if (place !== at) { tip.replaceChildren(); continue; }
      tip.replaceChildren(...words(cell));
      const wide = tip.offsetWidth, tall = tip.offsetHeight, below = box.y + box.height + 8;
      tip.style.left = `${Math.max(0, Math.min(place.clientWidth - wide, box.x + box.width / 2 - wide / 2))}px`;
      tip.style.top = `${box.y - tall - 8 > -tall ? box.y - tall - 8 : below}px`;
    }
  };
  for (const { place, chart } of plots) {
    const here = (event) => {
      const frame = place.getBoundingClientRect();
      const cell = chart.locate(event.clientX - frame.left, event.clientY - frame.top);
      if (cell === null) clear(); else point(cell, place);
    };
    place.addEventListener("pointermove", here);
    place.addEventListener("pointerdown", here);
    place.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
    place.addEventListener("focus", () => { if (place.matches(":focus-visible")) point(last ?? first, place); });
    place.addEventListener("blur", (event) => { if (!plots.some((other) => other.place === event.relatedTarget)) clear(); });
    place.addEventListener("keydown", (event) => {
      if (event.key === "Escape") clear();
      if (!(event.key in ARROWS) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      point(chart.next(last ?? first, ...ARROWS[event.key]), place);
    });
  }
};
