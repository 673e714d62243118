// Forms that show what a choice leads to while it is made. Without this script each has a button that does the same.
"use strict";

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// How many answers are waited for; the page says so, to people (a busy part) and to tests.
let waiting = 0;
async function busy(work) {
  document.documentElement.dataset.busy = ++waiting;
  try {
    return await work();
  } finally {
    document.documentElement.dataset.busy = --waiting;
  }
}

// A request to the studio; where it was stopped, or is another one meanwhile, the page says so instead of standing still.
const STOPPED = "The studio does not answer: it was stopped. What you chose before this page is in the job's file. Start it again, and open the link that it prints.";
async function ask(address, options) {
  let answer = null;
  try {
    answer = await fetch(address, options);
  } catch {}
  if (!answer || answer.status === 403) tell(STOPPED);
  if (!answer) throw new Error("no answer");
  return answer;
}

function tell(text) {
  const main = document.querySelector("main");
  const line = main.querySelector(":scope > .problem") || main.insertAdjacentElement("afterbegin", document.createElement("p"));
  line.className = "problem";
  line.setAttribute("role", "alert");
  line.textContent = text;
}

// The fields of a form for an address: the key of forms stays out of it.
function asked(form) {
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("form_key");
  return fields;
}

// Take a new part for an old one; what was typed meanwhile and where the cursor is stay.
function replace(old, made) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  for (const field of old.querySelectorAll("textarea, input:not([type])")) {
    const same = made.querySelector(`[name="${CSS.escape(field.name)}"]`);
    if (same) same.value = field.value;
  }
  old.replaceWith(made);
  if (!focused) return;
  const value = focused.type === "checkbox" || focused.type === "radio" ? `[value="${CSS.escape(focused.value)}"]` : "";
  const again = focused.name ? made.querySelector(`[name="${CSS.escape(focused.name)}"]${value}`) : null;
  if (again) {
    again.focus();
    if (focused.selectionStart != null && again.setSelectionRange) again.setSelectionRange(focused.selectionStart, focused.selectionEnd);
  }
}

// Files of public keys or zones, dropped on a part of the form or chosen with its button.
function files(form) {
  for (const part of form.querySelectorAll("[data-drop]")) {
    if (part.dataset.ready) continue;
    part.dataset.ready = "yes";
    const target = part.closest("fieldset") || part;
    const send = (file) => file && busy(async () => {
      const query = new URLSearchParams({ name: file.name, column: part.dataset.drop });
      const headers = { "x-form-key": form.elements.form_key.value, "content-type": "application/octet-stream" };
      const answer = await ask(`${form.dataset.keys}?${query}`, { method: "POST", body: file, headers });
      const found = await answer.json();
      part.querySelector("[role=status]").textContent = found.problem || "";
      if (!answer.ok) return;
      for (const [name, value] of Object.entries(found)) fill(form, part.dataset.drop, name, value);
      await form.refresh();
    });
    for (const kind of ["dragenter", "dragover"]) target.addEventListener(kind, (event) => {
      event.preventDefault();
      part.classList.add("over");
    });
    target.addEventListener("dragleave", () => part.classList.remove("over"));
    target.addEventListener("drop", (event) => {
      event.preventDefault();
      part.classList.remove("over");
      send(event.dataTransfer.files[0]);
    });
    part.querySelector("input[type=file]").addEventListener("change", (event) => {
      event.stopPropagation();
      send(event.target.files[0]);
    });
  }
}

// What a file means to the form: a choice in a list (of files it may be a new one), or a text.
function fill(form, column, name, value) {
  const names = { text: `keys:${column}` };
  let field = form.elements[names[name] || name];
  if (!field && name === "keys_file") {
    field = document.createElement("input");
    field.type = "hidden";
    field.name = name;
    form.append(field);
  }
  if (!field) return;
  if (field.options && ![...field.options].some((option) => option.value === value)) field.add(new Option(value, value));
  field.value = value;
}

function start() {
  // Parts of the page that depend on the form: asked for again, with what is in it, and nothing is kept.
  for (const form of document.querySelectorAll("form[data-live]")) {
    let latest = 0;
    const refresh = (fields) => busy(async () => {
      const mine = ++latest;
      fields.set("go", "stay");
      const answer = await ask(location.pathname, { method: "POST", body: fields });
      const text = await answer.text();
      if (mine !== latest) return; // another choice was made meanwhile
      document.querySelector("main > .problem")?.remove(); // it was about the form as it was sent
      const page = new DOMParser().parseFromString(text, "text/html");
      for (const place of form.dataset.live.split(", ")) {
        const old = document.querySelector(place), made = page.querySelector(place);
        if (old && made) replace(old, made);
      }
      files(form);
    });
    form.addEventListener("change", (event) => {
      if (event.target.matches("[data-refresh], [data-code]")) refresh(new URLSearchParams(new FormData(form)));
    });
    form.refresh = () => refresh(new URLSearchParams(new FormData(form)));
    files(form);
  }

  // What was typed into another form goes along, so that it is not lost when this one is sent.
  for (const form of document.querySelectorAll("form[data-with]")) {
    form.addEventListener("formdata", (event) => {
      for (const [name, value] of new FormData(document.querySelector(form.dataset.with))) {
        if (!event.formData.has(name)) event.formData.set(name, value);
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
    // What it leads to, with the list of bars where it was scrolled to; and in short for those who do not see it.
    const show = (text) => {
      const part = form.querySelector(".look"), down = part.querySelector(".bars")?.scrollTop || 0;
      part.innerHTML = text;
      if (down) part.querySelector(".bars")?.scrollTo(0, down);
      form.querySelector(".look + [role=status]").textContent = [...part.querySelectorAll("[data-say]")].map((each) => each.textContent).join(" ");
    };
    // One answer is waited for at a time; what was moved meanwhile is asked for after it, the last place alone.
    let underWay = false;
    const look = () => busy(async () => {
      latest += 1;
      if (underWay) return;
      underWay = true;
      try {
        for (let shown = -1; shown !== latest; ) {
          shown = latest;
          const answer = await ask(`${form.dataset.look}?${asked(form)}`);
          const text = await answer.text();
          if (answer.ok) show(text);
        }
      } finally {
        underWay = false;
      }
    });
    // A number that is being typed is none yet: it is looked at when the hand pauses or leaves the field.
    let typed = 0;
    const pause = () => busy(async () => {
      const mine = ++typed;
      await wait(700);
      if (mine === typed) await look();
    });
    sliders.forEach(place);
    form.addEventListener("input", (event) => {
      const target = event.target;
      if (target.matches("[data-error]") || target.matches("[data-refresh]")) return;
      if (target.dataset.sets) field(target).value = scale(target) ? scale(target)[target.value] : target.value;
      else sliders.forEach(place);
      if (target.matches("input:not([type])")) pause();
      else look();
    });
    form.addEventListener("change", (event) => busy(async () => {
      if (event.target.matches("[data-refresh]")) {
        const fields = new FormData(form);
        fields.set("go", "stay");
        const answer = await ask(location.pathname, { method: "POST", body: new URLSearchParams(fields) });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        document.querySelector("main").replaceWith(page.querySelector("main"));
        start();
        const again = document.querySelector(`main [name="${CSS.escape(event.target.name)}"]`);
        if (again) again.focus();
      } else if (event.target.matches("[data-error]") && event.target.value) {
        const answer = await ask(`${form.dataset.solve}?${asked(form)}`);
        const found = await answer.json();
        form.querySelector("#solved").textContent = found.problem || "";
        if (!found.value) return;
        const slider = sliders[0];
        field(slider).value = found.value;
        place(slider);
        look();
      } else if (event.target.matches("input:not([type])")) {
        typed += 1;
        await look();
      }
    }));
  }

  for (const part of document.querySelectorAll("[data-poll]")) {
    (async () => {
      for (;;) {
        await wait(600);
        const answer = await ask(part.dataset.poll);
        if (!answer.ok) return;
        const found = await answer.json();
        part.querySelector("[data-seconds]").textContent = `Under way for ${found.seconds} s.`;
        if (found.state === "done") location.assign(part.dataset.then);
        else if (found.state !== "running") location.reload();
        if (found.state !== "running") return;
      }
    })();
  }
}

start();

// Teaching texts: shown unless they were switched off in this browser.
const explain = document.querySelector("[data-explain]");
if (explain) {
  let wanted = "yes";
  try {
    wanted = localStorage.getItem("explain") || "yes";
  } catch {} // a browser that keeps nothing
  const apply = () => document.documentElement.classList.toggle("plain", !explain.checked);
  explain.checked = wanted === "yes";
  explain.addEventListener("change", () => {
    apply();
    try {
      localStorage.setItem("explain", explain.checked ? "yes" : "no");
    } catch {}
  });
  apply();
}
