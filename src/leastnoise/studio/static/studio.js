// Forms that show what a choice leads to while it is made. Without this script each has a button that does the same.
"use strict";

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

function start() {
  // A part of the form that depends on another: asked for again, with what is in the form, and nothing is kept.
  for (const form of document.querySelectorAll("form[data-live]")) {
    let latest = 0;
    form.addEventListener("change", async (event) => {
      if (!event.target.matches("[data-refresh]")) return;
      const mine = ++latest;
      const fields = new URLSearchParams(new FormData(form));
      fields.set("go", "stay");
      const answer = await fetch(location.href, { method: "POST", body: fields });
      const text = await answer.text();
      if (mine !== latest) return; // another choice was made meanwhile
      const old = document.querySelector(form.dataset.live);
      const made = new DOMParser().parseFromString(text, "text/html").querySelector(form.dataset.live);
      for (const field of old.querySelectorAll("textarea, input:not([type])")) {
        const same = made.querySelector(`[name="${CSS.escape(field.name)}"]`);
        if (same) same.value = field.value; // what was typed meanwhile
      }
      const focused = old.contains(document.activeElement) ? document.activeElement : null;
      old.replaceWith(made);
      if (focused) {
        const value = focused.type === "checkbox" ? `[value="${CSS.escape(focused.value)}"]` : "";
        const again = made.querySelector(`[name="${CSS.escape(focused.name)}"]${value}`);
        if (again) again.focus();
      }
    });
  }

  for (const form of document.querySelectorAll("form[data-look]")) {
    let latest = 0;
    const sliders = [...form.querySelectorAll("[data-sets]")];
    const field = (slider) => form.elements[slider.dataset.sets];
    const scale = (slider) => (slider.dataset.scale ? slider.dataset.scale.split(" ").map(Number) : null);
    const place = (slider) => {
      const steps = scale(slider), value = Number(field(slider).value);
      if (!steps) slider.value = value;
      else slider.value = steps.reduce((best, step, at) => (Math.abs(Math.log(step / value)) < Math.abs(Math.log(steps[best] / value)) ? at : best), 0);
    };
    const look = async () => {
      const mine = ++latest;
      await wait(30);
      if (mine !== latest) return;
      const answer = await fetch(`${form.dataset.look}?${new URLSearchParams(new FormData(form))}`);
      const text = await answer.text();
      if (mine === latest && answer.ok) form.querySelector("#look").innerHTML = text;
    };
    sliders.forEach(place);
    form.addEventListener("input", (event) => {
      const target = event.target;
      if (target.matches("[data-error]") || target.matches("[data-refresh]")) return;
      if (target.dataset.sets) field(target).value = scale(target) ? scale(target)[target.value] : target.value;
      else sliders.forEach(place);
      look();
    });
    form.addEventListener("change", async (event) => {
      if (event.target.matches("[data-refresh]")) {
        const fields = new FormData(form);
        fields.set("go", "stay");
        const answer = await fetch(location.href, { method: "POST", body: new URLSearchParams(fields) });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        document.querySelector("main").replaceWith(page.querySelector("main"));
        start();
      } else if (event.target.matches("[data-error]") && event.target.value) {
        const answer = await fetch(`${form.dataset.solve}?${new URLSearchParams(new FormData(form))}`);
        const found = await answer.json();
        form.querySelector("#solved").textContent = found.problem || "";
        if (!found.value) return;
        const slider = sliders[0];
        field(slider).value = found.value;
        place(slider);
        look();
      }
    });
  }

  for (const part of document.querySelectorAll("[data-poll]")) {
    (async () => {
      for (;;) {
        await wait(600);
        const answer = await fetch(part.dataset.poll);
        const found = await answer.json();
        if (found.state === "done") location.assign(part.dataset.then);
        else if (found.state !== "running") location.reload();
        if (found.state !== "running") return;
      }
    })();
  }
}

start();
