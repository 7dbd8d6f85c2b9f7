// Controls made from what a scene says of its fields: labelled, moved by keys, the value beside them as text.
import { nice } from "./plot.js";

let serial = 0;

export function controls(form, scene, state, changed) {
  // {show(state), first}: the first of the sliders over decades; tables are the view's own
  form.replaceChildren();
  form.onsubmit = (event) => event.preventDefault();
  const shown = [];
  let first = null;
  for (const [name, field] of Object.entries(scene.fields)) {
    const make = { exponent, number, integer: number, choice }[field.kind];
    if (!make) continue;
    const one = make(field, state[name], (value, final) => changed({ [name]: value }, final));
    form.append(one.host);
    if (field.kind === "exponent") first ??= one.host;
    shown.push([name, one]);
  }
  return { show: (now) => shown.forEach(([name, one]) => one.show(now[name])), first };
}

function frame(field, id, tag = "label") {
  const host = document.createElement("div"), label = document.createElement(tag), row = document.createElement("div");
  host.className = "control";
  label.textContent = field.label;
  if (tag === "label") label.htmlFor = id;
  row.className = "row";
  host.append(label, row);
  if (field.help) {
    const help = document.createElement("p");
    help.className = "help";
    help.id = `${id}-help`;
    help.textContent = field.help;
    host.append(help);
  }
  return { host, row };
}

function slider(field, id, low, high, step) {
  const input = document.createElement("input");
  Object.assign(input, { type: "range", id, min: low, max: high, step });
  if (field.help) input.setAttribute("aria-describedby", `${id}-help`);
  return input;
}

export function power(exponent, field) {
  // 10^exponent as text
  if (field.off !== null && field.off !== undefined && exponent <= field.off) return "off";
  if (Number.isInteger(exponent) && Math.abs(exponent) > 3) return `1e${exponent}`;
  if (exponent < -3) {
    const whole = Math.floor(exponent);
    return `${Number((10 ** (exponent - whole)).toPrecision(2))}e${whole}`;
  }
  return nice(Number((10 ** exponent).toPrecision(2)));
}

// A slider over decades. Few of them are drawn evenly; beyond six below one they are drawn closer and closer.
const BEND = 6;
export const toSlider = (e, low) => e >= -BEND || low >= -BEND ? e
  : -BEND - BEND * Math.log(-e / BEND) / Math.log(-low / BEND);
const toExponent = (u, low) => u >= -BEND || low >= -BEND ? u
  : -BEND * (-low / BEND) ** ((-u - BEND) / BEND);

function exponent(field, value, changed) {
  const id = `control-${serial++}`, { host, row } = frame(field, id), output = document.createElement("output");
  const least = field.low < -BEND ? -2 * BEND : field.low;
  const input = slider(field, id, least, field.high, "any");
  const show = (now) => {
    if (document.activeElement !== input || Math.abs(toExponent(input.valueAsNumber, field.low) - now) > 0.5)
      input.value = toSlider(now, field.low);
    const said = power(now, field);
    output.textContent = said === "off" ? "off" : `${field.symbol} = ${said}`;
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const read = (final) => {
    const raw = toExponent(input.valueAsNumber, field.low);
    const digits = raw < -20 ? 1 : raw < -BEND ? 0.5 : field.step;
    const now = Math.min(Math.max(Math.round(raw / digits) * digits, field.low), field.high);
    const clean = Number(now.toFixed(4));
    show(clean);
    changed(clean, final);
  };
  input.addEventListener("input", () => read(false));
  input.addEventListener("change", () => read(true));
  input.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!by) return;
    event.preventDefault();
    const here = toExponent(input.valueAsNumber, field.low);
    const size = here < -20 ? 5 : here < -BEND ? 0.5 : Math.max(field.step, 0.1);
    input.value = toSlider(Math.min(Math.max(here + by * size, field.low), field.high), field.low);
    read(true);
  });
  row.append(input, output);
  show(value);
  return { host, show };
}

function number(field, value, changed) {
  const id = `control-${serial++}`, { host, row } = frame(field, id), output = document.createElement("output");
  const input = slider(field, id, field.low, field.high, field.step);
  const show = (now) => {
    input.value = now;
    output.textContent = nice(now);
  };
  input.addEventListener("input", () => { output.textContent = nice(input.valueAsNumber); changed(input.valueAsNumber, false); });
  input.addEventListener("change", () => changed(input.valueAsNumber, true));
  row.append(input, output);
  show(value);
  return { host, show };
}

function choice(field, value, changed) {
  const id = `control-${serial++}`, { host, row } = frame(field, id), input = document.createElement("select");
  input.id = id;
  for (const [name, label] of Object.entries(field.options)) input.append(new Option(label, name));
  if (field.help) input.setAttribute("aria-describedby", `${id}-help`);
  input.addEventListener("change", () => changed(input.value, true));
  row.append(input);
  const show = (now) => (input.value = now);
  show(value);
  return { host, show };
}

export function button(label, clicked, attributes = {}) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  for (const [key, content] of Object.entries(attributes)) made.setAttribute(key, content);
  made.addEventListener("click", clicked);
  return made;
}

export function provenTo({ gap, kind }) {
  // what stands behind a number, in words
  if (gap === null) return "proven from one side only";
  return `${kind === "heuristic" ? "not proven" : "proven"} to a relative ${nice(gap)}`;
}

export function facts(host) {
  // a list of labelled numbers: set({label: text})
  const list = document.createElement("dl");
  list.className = "facts";
  host.append(list);
  return (rows) => list.replaceChildren(...Object.entries(rows).flatMap(([label, value]) => {
    const term = document.createElement("dt"), said = document.createElement("dd");
    term.textContent = label;
    said.textContent = value;
    return [term, said];
  }));
}
