// Claims: which statements speak about the data, their verdicts as they come, and the page of the one that was clicked.
import { button } from "../controls.js";
import { Plot, clamp, figure, nice } from "../plot.js";

const SIGNS = { "not met": "–", holds: "✓", consistent: "≈", violated: "✗", inconclusive: "?", "hypotheses fail": "–", "does not apply": "–" };
const COLOURS = { holds: "green", consistent: "green", violated: "red", inconclusive: "amber" };
const ORDER = ["violated", "holds", "consistent", "inconclusive", "waiting", "not met", "hypotheses fail", "does not apply"];

export function toClaims(tools, wanted) {
  // a button for other scenes: the claims that speak about their data
  const made = button("Which claims speak about this?", () => {
    const { log10_scale, ...rest } = wanted();
    const state = { ...rest, log10_scale: clamp(log10_scale, -300, 1) };
    location.hash = `#claims/${encodeURIComponent(JSON.stringify(state))}`;
  }, { id: "to-claims" });
  const row = document.createElement("div");
  row.className = "buttons";
  row.append(made);
  tools.append(row);
}

const narrow = matchMedia("(max-width: 900px)");

export function view(stage, { scene, change, player, say, recorded }) {
  let state = null, limit = null, over = "", chosen = null;
  const verdicts = new Map();

  const main = figure(stage, { title: "Statements about these data." });
  const list = document.createElement("div");
  list.className = "claims";
  main.host.append(list);

  const side = document.createElement("figure");
  side.className = "beside";
  stage.append(side);
  player.output.textContent = "nothing moves here";
  const drawing = figure(side, { title: "The data.", legend: [["blue", "label above zero", "dot"], ["red", "below", "dot"]] });
  drawing.host.style.margin = "0";
  const plot = new Plot(drawing.host, { label: "Inputs in the plane", x: { label: "first input", range: [-1, 1] }, y: { label: "second input", range: [-1, 1] }, height: 260, square: true });
  const page = document.createElement("section");
  side.tabIndex = 0; // it scrolls by itself
  page.setAttribute("aria-live", "polite");
  page.setAttribute("aria-label", "The statement that was clicked");
  side.append(page);

  function drawData() {
    const flat = state.rows[0].length === 3, reach = Math.max(0.1, ...state.rows.flatMap((row) => row.slice(0, 2).map(Math.abs)));
    drawing.host.style.display = flat ? "" : "none";
    if (!flat) return;
    const range = plot.x.range[1] < 1.05 * reach || plot.x.range[1] > 4 * reach ? [-1.3 * reach, 1.3 * reach] : plot.x.range;
    plot.ranges(range, range);
    const { rows } = state, colour = (k) => rows[k][2] > 0 ? "blue" : rows[k][2] < 0 ? "red" : "quiet";
    if (recorded) { plot.marks("rows", state.rows.map(([x, y], k) => [x, y, { colour: colour(k) }]), { radius: 7 }); return; }
    plot.handles("rows", rows, {
      colour, step: [0.02 * range[1], 0.02 * range[1]],
      name: (k) => `input ${k + 1} at ${nice(rows[k][0])}, ${nice(rows[k][1])}, label ${nice(rows[k][2])}; arrow keys move it`,
      moved: (k, at, final) => change({ rows: state.rows.map((row, i) => i === k ? [...at.map((value) => clamp(value, -1000, 1000)), row[2]] : row) }, final),
    });
  }

  // the tightest check of those that decide the verdict, as text
  function told(verdict) {
    const known = verdict.checks.filter((each) => each.slack !== null), own = known.filter((each) => each.status === verdict.status);
    const judged = own.length ? own : known, bounds = judged.filter((each) => each.relation !== "==");
    const words = [];
    if (bounds.length) words.push(`slack ${nice(Math.min(...bounds.map((each) => each.slack)))}`);
    else if (judged.length) words.push(`both sides differ by ${nice(Math.max(...judged.map((each) => Math.abs(each.slack))))}`);
    if (verdict.sharpness !== null) words.push(`sharpness ${nice(verdict.sharpness)}`);
    if (verdict.why) words.push(verdict.why);
    return words.join(", ");
  }

  function row(claim) {
    const verdict = verdicts.get(claim.id), status = verdict?.status ?? "waiting";
    const made = button("", () => { chosen = claim.id; draw(); showPage(); if (narrow.matches) page.scrollIntoView(); }, { "aria-pressed": String(chosen === claim.id), "data-claim": claim.id });
    made.className = "claim";
    const badge = document.createElement("span"), words = document.createElement("span"), note = document.createElement("small");
    badge.textContent = `${SIGNS[status] ?? "…"} ${status}`;
    badge.style.color = `var(--${COLOURS[status] ?? "quiet"})`;
    badge.className = "badge";
    words.textContent = `${claim.id}: ${claim.title}`;
    note.textContent = verdict ? told(verdict) : "";
    made.append(badge, words, note);
    return made;
  }

  function draw() {
    const counts = {};
    for (const { status } of verdicts.values()) counts[status] = (counts[status] ?? 0) + 1;
    const summary = Object.entries(counts).map(([status, count]) => `${count} ${status}`).join(", ");
    main.say(limit ? `${limit.claims.length} statements speak about them, ${limit.silent} about other things. ${summary}${over ? `; ${over}` : ""}` : "");
    const rank = (claim) => ORDER.indexOf(verdicts.get(claim.id)?.status ?? "waiting");
    const held = list.contains(document.activeElement) ? document.activeElement.dataset.claim : null;
    list.replaceChildren(...[...(limit?.claims ?? [])].sort((a, b) => rank(a) - rank(b)).map(row));
    if (held) list.querySelector(`[data-claim="${CSS.escape(held)}"]`)?.focus();
  }

  function showPage() {
    const verdict = verdicts.get(chosen);
    if (!verdict) { if (chosen) say(`${chosen} is not judged yet`); return; }
    const title = document.createElement("h3");
    title.textContent = `${verdict.id}: ${verdict.title}`;
    const status = document.createElement("p");
    status.textContent = `${verdict.status}: ${verdict.meaning}. (${verdict.source})`;
    page.replaceChildren(title, status, ...verdict.page.flatMap(({ heading, items }) => {
      const head = document.createElement("h4");
      head.textContent = heading;
      return [head, ...items.map(([term, text]) => {
        const item = document.createElement(text.startsWith("@") ? "pre" : "p");
        if (text.startsWith("@")) { item.tabIndex = 0; item.style.overflowX = "auto"; }
        if (term) { const strong = document.createElement("strong"); strong.textContent = `${term}: `; item.append(strong); }
        item.append(text);
        return item;
      })];
    }));
  }

  return {
    state(next) { state = next; drawData(); },
    part(name, value) {
      if (name === "limit") {
        limit = value;
        over = "";
        verdicts.clear();
        if (!limit.claims.some(({ id }) => id === chosen)) { chosen = null; page.replaceChildren(); }
      }
      if (name === "verdict") {
        // an assumption is no theorem: where it does not hold, nothing is refuted
        verdicts.set(value.id, value.kind === "assumption" && value.status === "violated" ? { ...value, status: "not met", meaning: "the data do not satisfy this assumption" } : value);
        if (value.id === chosen) showPage();
      }
      if (name === "over") over = value.said;
      draw();
    },
    frame() {},
    most: scene.fields.rows.most,
    fromTable({ rows }) {
      if (rows[0].length > 9 || rows[0].length < 2) throw new Error("this scene takes 2 to 9 columns, the label in the last");
      return { rows };
    },
  };
}
