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

// Take a new part for an old one; what was typed since it was asked for, what is unfolded and where the cursor is stay.
function replace(old, made, sent) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  for (const field of old.querySelectorAll("textarea, input:not([type])")) {
    const same = made.querySelector(`[name="${CSS.escape(field.name)}"]`);
    if (same && field.value !== sent.get(field.name)) same.value = field.value;
  }
  const folds = made.querySelectorAll("details");
  old.querySelectorAll("details").forEach((each, at) => folds[at]?.toggleAttribute("open", each.open));
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
  // Parts of the page that depend on the form: asked for again, with what is in it, and nothing is kept. One answer is
  // waited for at a time; what was chosen meanwhile is asked for after it, and until then no field is replaced.
  for (const form of document.querySelectorAll("form[data-live]")) {
    let latest = 0, changed = "", underWay = false;
    const held = (part) => part.contains(document.activeElement) && document.activeElement.type === "range";
    const show = (page, sent, late) => {
      document.querySelector("main > .problem")?.remove(); // it was about the form as it was sent
      for (const place of form.dataset.live.split(", ")) {
        const old = document.querySelector(place), made = page.querySelector(place);
        if (old && made && !held(old) && !(late && old.querySelector("input, select, textarea"))) replace(old, made, sent);
      }
      const said = form.querySelector("[data-said]");
      if (said) said.textContent = [...form.querySelectorAll("[data-say]")].map((each) => each.textContent).join(" ");
      files(form);
    };
    form.refresh = (name = "") => busy(async () => {
      latest += 1;
      changed = name;
      if (underWay) return;
      underWay = true;
      try {
        for (let shown = -1; shown !== latest; ) {
          shown = latest;
          const sent = new FormData(form);
          sent.set("go", "stay");
          sent.set("changed", changed);
          const answer = await ask(location.pathname, { method: "POST", body: new URLSearchParams(sent) });
          show(new DOMParser().parseFromString(await answer.text(), "text/html"), sent, shown !== latest);
        }
      } finally {
        underWay = false;
      }
    });
    form.addEventListener("change", (event) => form.refresh(event.target.name));
    form.addEventListener("input", (event) => {
      const { sets, scale } = event.target.dataset; // of a slider: the field that it moves
      if (!sets) return;
      form.elements[sets].value = scale ? scale.split(" ")[event.target.value] : event.target.value;
      form.refresh(sets);
    });
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
