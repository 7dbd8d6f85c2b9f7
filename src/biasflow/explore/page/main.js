// The page: scenes, their state in the address, questions to the server, answers to the view.
import { Connection } from "./connection.js";
import { button, controls } from "./controls.js";
import { fragment, fromFragment, withDefaults } from "./links.js";
import { Player } from "./player.js";
import { readTable, thinned } from "./tables.js";
import * as boundary from "./scenes/boundary.js";
import * as claims from "./scenes/claims.js";
import * as completion from "./scenes/completion.js";
import * as line from "./scenes/line.js";
import * as plane from "./scenes/plane.js";
import * as sparse from "./scenes/sparse.js";

const VIEWS = { boundary, claims, completion, line, plane, sparse };
const PATIENCE = 350; // milliseconds that a drag waits for the first answer to the question before
const $ = (id) => document.getElementById(id);

const page = { scenes: [], scene: null, state: null, view: null, player: null, shown: null, connection: null };

const LOOKED_AT = 4000; // milliseconds after which "computed in …" no longer lies over the picture
let fading = null, warming = false;

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
  $("status").classList.remove("old");
  clearTimeout(fading);
  if (!bad && /^(computed|connected|saved)/.test(text)) fading = setTimeout(() => $("status").classList.add("old"), LOOKED_AT);
}

// ---- questions: the newest state is asked once the first answer to the one before is here

const asking = { since: 0, pending: false, answered: true, timer: null, scene: null };

function ask() {
  if (!page.connection) return;
  const waited = performance.now() - asking.since;
  if (!asking.answered && waited < PATIENCE) {
    asking.pending = true;
    clearTimeout(asking.timer);
    asking.timer = setTimeout(ask, PATIENCE - waited);
    return;
  }
  asking.pending = false;
  clearTimeout(asking.timer);
  if (page.connection.say("ask", page.scene.name, page.state) === null) return;
  asking.since = performance.now();
  asking.answered = false;
  asking.scene = page.scene;
  page.asked = asking.since;
}

function answered() {
  asking.answered = true;
  if (asking.pending) ask();
}

function change(changes, final = true) {
  Object.assign(page.state, changes);
  page.shown.show(page.state);
  page.view.state(page.state);
  remember(final);
  ask();
}

let remembering = null;
function remember(now) {
  clearTimeout(remembering);
  const write = () => history.replaceState(null, "", fragment(page.scene, page.state));
  if (now) write(); else remembering = setTimeout(write, 250);
}

// ---- answers

const heard = {
  hello(scenes) {
    const first = !page.scenes.length;
    page.scenes = scenes;
    if (first) {
      const linked = fromFragment(location.hash, scenes);
      say("connected");
      enter(linked?.scene ?? scenes[0], linked?.state);
      refuse(linked);
    } else { say("connected"); ask(); }
  },
  part(message) {
    if (asking.scene !== page.scene) return; // what was asked before the scene was changed
    if (warming) { warming = false; say("computing…"); }
    $("stage").classList.remove("stale");
    draw(message.name, message.data);
    if (message.name !== "data") answered();
  },
  end(message, newest) {
    if (newest) answered();
    warming = false;
    if (message.error) { say(message.error, true); if (newest) $("stage").classList.add("stale"); } // what is drawn is of another state
    else if (asking.scene === page.scene) { page.view.ended?.(); say(`computed in ${Math.round(performance.now() - page.asked)} ms`); }
  },
  warming() { warming = true; say("loading this scene; the first time on this machine its code is compiled, which takes up to a minute"); asking.since = performance.now(); },
  code(message) { showCode(message.text); },
  file(message) { save(message.name, message.text); },
  lost(reason, was) {
    asking.answered = true;
    if (reason) say(reason, true);
    else say(was ? "the server is gone; this page goes on when it is back" : "waiting for the server; after a new launch open the address that it prints, and this page goes on, too", true);
  },
};

function draw(name, data) {
  page.view.part(name, data);
  document.body.dataset.part = name;
  if (name === "limit") document.body.dataset.latency = (performance.now() - page.asked).toFixed(1);
}

function refuse(linked) {
  // said beside the picture, where "computed in …" does not take its place
  $("refused")?.remove();
  if (linked?.refused.length) $("caption").append(Object.assign(document.createElement("strong"), {
    id: "refused", textContent: ` The link has something that this scene does not take (${linked.refused.join(", ")}); the picture has its own there.` }));
}

// ---- scenes

function enter(scene, state) {
  page.scene = scene;
  page.state = state ?? withDefaults(scene, {});
  for (const each of $("scenes").children)
    each.setAttribute("aria-current", String(each.dataset.name === scene.name));
  if (!$("scenes").children.length)
    $("scenes").append(...page.scenes.map((each) => button(each.title, () => enter(each), {
      "data-name": each.name, "aria-current": String(each === scene) })));
  $("scenes").querySelector("[aria-current=true]").scrollIntoView({ inline: "nearest", block: "nearest" });
  $("title").textContent = scene.title;
  $("question").textContent = scene.question;
  $("caption").textContent = scene.caption;
  document.title = `${scene.title} · biasflow`;
  $("stage").replaceChildren();
  $("stage").classList.remove("stale");
  $("data-tools").replaceChildren();
  const view = VIEWS[scene.name].view;
  page.player = new Player($("player"), (fraction, time) => page.view?.frame(fraction, time));
  page.view = null;
  page.view = view($("stage"), { scene, state: page.state, change, player: page.player, say,
    tools: $("data-tools"), recorded: page.recorded });
  page.shown = controls($("controls"), scene, page.state, change);
  place();
  presets(scene);
  if (!page.recorded) { dataTools(scene); sharing(); }
  page.view.state(page.state);
  remember(true);
  asking.answered = true; // nobody waits for what the scene before asked
  ask();
}

// on a narrow window the scale stays in sight, beside time
const narrow = matchMedia("(max-width: 900px)");
function place() {
  const { first } = page.shown;
  if (first) (narrow.matches ? $("player") : $("controls")).prepend(first);
}
narrow.addEventListener("change", () => page.shown && place());

function presets(scene) {
  const id = "preset", label = document.createElement("label"), select = document.createElement("select");
  label.textContent = "Presets ";
  label.htmlFor = id;
  select.id = id;
  select.append(new Option("choose one…", ""));
  scene.presets.forEach((each, k) => select.append(new Option(`${each.title} (${each.source})`, k)));
  select.addEventListener("change", () => {
    if (select.value !== "") change(structuredClone(scene.presets[Number(select.value)].state));
  });
  select.disabled = Boolean(page.recorded);
  $("presets").replaceChildren(label, select);
}

function dataTools(scene) {
  if (!scene.csv) return;
  const host = document.createElement("div"), label = document.createElement("label"), input = document.createElement("input");
  host.className = "control";
  Object.assign(input, { type: "file", id: "csv", accept: ".csv,.tsv,.txt,text/csv" });
  label.htmlFor = "csv";
  label.textContent = "Your own data, a CSV file";
  const help = document.createElement("p");
  help.className = "help";
  help.textContent = `${scene.csv} It stays on this machine.`;
  const read = document.createElement("p");
  read.className = "help";
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    try {
      const { names, rows } = await readTable(input.files[0], page.view.holes), { most } = page.view;
      change(page.view.fromTable({ names, rows: most ? thinned(rows, most) : rows }));
      read.textContent = `Read ${most < rows.length ? `${most} of ${rows.length} rows, evenly chosen` : rows.length === 1 ? "one row" : `${rows.length} rows`}: ${names.slice(0, 6).join(", ").slice(0, 120)}`;
    } catch (error) { say(error.message, true); }
    input.value = "";
  });
  host.append(label, input, read, help);
  $("data-tools").append(host);
}

function sharing() {
  const row = document.createElement("div");
  row.className = "buttons";
  row.append(
    button("Copy as Python", () => request("code", "writing the script…"), { id: "copy-code" }),
    button("Copy link", () => copy(location.origin + location.pathname + fragment(page.scene, page.state), "link copied"), { id: "copy-link" }),
    button("Save as a page", () => request("export", "computing the page…"), { id: "save-page" }),
    button("Start again", () => change(withDefaults(page.scene, {})), { id: "reset" }),
  );
  $("sharing").replaceChildren(row);
}

function request(kind, words) {
  const sent = page.connection.say(kind, page.scene.name, page.state) !== null;
  say(sent ? words : "the server is gone; nothing can be computed until it is back", !sent);
}

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say("the browser did not allow copying; the address bar has the link", true);
  }
}

function showCode(text) {
  $("code").textContent = text;
  if (!$("code-dialog").open) $("code-dialog").showModal();
  copy(text, "copied as Python");
}

function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  say(`saved as ${name}`);
}

// ---- the look

function theme() {
  const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").textContent = "Dark";
    $("theme").setAttribute("aria-pressed", String(dark));
  };
  let dark = stored ? stored === "dark" : system.matches;
  show(dark);
  system.addEventListener("change", (event) => show((dark = event.matches)));
  $("theme").addEventListener("click", () => {
    show((dark = !dark));
    try { localStorage.setItem("theme", dark ? "dark" : "light"); } catch { /* a page from a file has no storage */ }
  });
}

function play(recording) {
  // a page that was saved: what was computed, without a server
  page.recorded = true;
  page.scenes = [recording.scene];
  document.body.classList.add("recorded");
  enter(recording.scene, recording.state);
  for (const input of document.querySelectorAll("#panel :is(input, select, button), #player > .control input")) input.disabled = true;
  page.asked = performance.now();
  for (const [name, data] of recording.parts) page.view.part(name, data);
  page.view.ended?.();
  page.player.go(1);
  say("a saved page: play and scrub work; `biasflow explore` computes anew");
}

theme();
$("code-close").addEventListener("click", () => $("code-dialog").close());
addEventListener("hashchange", () => {
  const linked = fromFragment(location.hash, page.scenes);
  if (linked && fragment(linked.scene, linked.state) !== fragment(page.scene, page.state)) enter(linked.scene, linked.state);
  if (linked) refuse(linked);
});
const recording = $("recording");
if (recording) play(JSON.parse(recording.textContent));
else page.connection = new Connection(heard);
