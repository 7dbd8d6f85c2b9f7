// Completion: a matrix whose entries are clicked, what is filled in, its singular values, norms at every scale.
import { facts, provenTo } from "../controls.js";
import { Plot, figure, logRange, nice, rangeOf } from "../plot.js";
import { frameAt, mixed } from "../player.js";

const SHADES = ["blue", "red", "green", "purple", "amber", "black"];

export function view(stage, { change, player, recorded }) {
  let state = null, limit = null, flow = null, norms = null, ended = false;

  const given = figure(stage, { title: "What is seen.", size: "third" });
  const now = figure(stage, { title: "The network now.", size: "third" });
  const ends = figure(stage, { title: "The simplest: least nuclear norm.", size: "third" });
  const cells = grid(given.host, true), filled = grid(now.host, false), simple = grid(ends.host, false);
  given.say(recorded ? "" : "Click an entry to show or hide it; arrow keys change its value.");
  const beneath = document.createElement("figure");
  beneath.className = "wide";
  stage.append(beneath);
  const told = facts(beneath);

  const rise = figure(stage, { title: "Singular values.", legend: [["blue", "of the network"], ["quiet", "of the simplest matrix", "dashed"]] });
  const values = new Plot(rise.host, { label: "Singular values against time", x: { label: "time t" }, y: { label: "singular value" }, height: 240 });
  const fall = figure(stage, { title: "The loss.", legend: [["blue", "loss"]] });
  const losses = new Plot(fall.host, { label: "Loss against time", x: { label: "time t" }, y: { label: "loss", log: true }, height: 240 });
  const scale = figure(stage, { title: "From the kernel to the rich regime.", size: "wide", legend: [["green", "nuclear norm of the end"], ["purple", "Frobenius norm"],
    ["green", "least possible, of either", "dashed"], ["ink", "your α", "dashed"]] });
  const regimes = new Plot(scale.host, { label: "Norms of where the flow ends against the scale of the start",
    x: { label: "log₁₀ α", range: [-12, 1] }, y: { label: "norm" }, height: 220 });

  function grid(host, editable) {
    // a table of numbers on colours; the first one's are buttons
    const table = document.createElement("table");
    table.className = "matrix";
    host.append(table);
    return (matrix, seen) => {
      const d = matrix[0].length, largest = Math.max(...matrix.flat().map(Math.abs), 1e-9);
      if (table.rows.length !== matrix.length || table.rows[0].cells.length !== d) {
        table.replaceChildren(...matrix.map((_, i) => {
          const line = document.createElement("tr");
          line.append(...Array.from({ length: d }, (_, j) => {
            const cell = document.createElement("td");
            if (editable && !recorded) cell.append(entry(i, j));
            return cell;
          }));
          return line;
        }));
      }
      matrix.forEach((line, i) => line.forEach((value, j) => {
        const cell = table.rows[i].cells[j], shown = !editable || seen[i][j] === 1;
        const part = shown ? Math.round(50 * Math.abs(value) / largest) : 0;
        cell.style.background = `color-mix(in srgb, var(--${value > 0 ? "blue" : "red"}) ${part}%, transparent)`;
        cell.classList.toggle("seen", Boolean(seen && seen[i][j] === 1));
        const words = shown ? largest < 0.095 && value ? value.toExponential(0) : value.toFixed(2) : "?", target = cell.firstElementChild ?? cell;
        if (target.textContent !== words) target.textContent = words;
        if (cell.firstElementChild) {
          target.setAttribute("aria-label", `row ${i + 1}, column ${j + 1}: ${shown ? `seen, ${words}` : "hidden"}`);
          target.setAttribute("aria-pressed", String(shown));
        }
      }));
    };
  }

  function entry(i, j) {
    const made = document.createElement("button");
    made.type = "button";
    made.addEventListener("click", () => {
      const seen = state.seen.map((line) => [...line]);
      seen[i][j] = 1 - seen[i][j];
      change({ seen });
    });
    made.addEventListener("keydown", (event) => {
      const by = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key];
      const to = { ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (by) {
        event.preventDefault();
        const matrix = state.matrix.map((line) => [...line]);
        matrix[i][j] = Math.min(Math.max(Number((matrix[i][j] + by).toFixed(3)), -9), 9);
        change({ matrix });
      } else if (to) {
        const next = made.closest("table").rows[i].cells[j + to[1]]?.firstElementChild;
        if (next) { event.preventDefault(); next.focus(); }
      }
    });
    return made;
  }

  function drawNow(fraction) {
    const at = frameAt(fraction, flow.times.length);
    filled(flow.matrix.map((line) => line.map((series) => mixed(series, at))), state.seen);
  }

  function tell() {
    const { hidden_error: [simplest, zeros] } = limit, rows = {
      "least nuclear norm": `${nice(limit.nuclear_norm)}, ${provenTo(limit.proof)}`,
      "least Frobenius norm": nice(limit.frobenius_norm),
    };
    if (ended) rows["nuclear norm at the end"] = `${nice(flow.norm)}, ${nice(flow.norm / limit.nuclear_norm)} times the least`;
    if (simplest !== null) rows["misses the hidden entries by"] = `${nice(simplest)} (least nuclear norm), ${nice(zeros)} (zeros)${ended ? `, ${nice(flow.hidden_error)} (network)` : ""}`;
    told(rows);
  }

  function drawNorms() {
    if (norms) {
      regimes.ranges(null, rangeOf([norms.nuclear, norms.frobenius, limit ? [limit.nuclear_norm, limit.frobenius_norm] : []], { zero: true }));
      regimes.curve("nuclear", norms.log10_alpha, norms.nuclear, { colour: "green" });
      regimes.curve("frobenius", norms.log10_alpha, norms.frobenius, { colour: "purple" });
    }
    if (limit) {
      regimes.curve("least nuclear", [-12, 1], [limit.nuclear_norm, limit.nuclear_norm], { colour: "green", dash: "6 4", width: 1.3 });
      regimes.curve("least frobenius", [-12, 1], [limit.frobenius_norm, limit.frobenius_norm], { colour: "purple", dash: "6 4", width: 1.3 });
    }
    regimes.vertical("you", state.log10_alpha, { label: "your α" });
  }

  return {
    state(next) {
      state = next;
      cells(state.matrix, state.seen);
      drawNorms();
    },
    part(name, value) {
      if (name === "limit") {
        limit = value;
        ended = false; // the flow that is drawn is of the entries before
        simple(limit.nuclear, state.seen);
        tell();
        drawNorms();
      }
      if (name === "flow") {
        now.say(value.said);
        flow = value.times.length ? value : null;
        ended = Boolean(flow) && flow.last && !flow.said;
        tell();
        if (!flow) { for (const each of [values, losses]) each.removeWhere(() => true); player.film([]); return; }
        const end = flow.times.at(-1);
        values.ranges([0, end], rangeOf(flow.singular, { zero: true }));
        values.removeWhere((id) => id.startsWith("s"));
        flow.singular.forEach((series, k) => values.curve(`s${k}`, flow.times, series, { colour: SHADES[k % SHADES.length] }));
        limit?.singular.forEach((value, k) => values.curve(`simplest ${k}`, [0, end], [value, value], { colour: "quiet", dash: "6 4", width: 1.3 }));
        losses.ranges([0, end], logRange([flow.loss], 5));
        losses.curve("loss", flow.times, flow.loss, { colour: "blue" });
        player.film(flow.times);
      }
      if (name === "norms") { norms = value; drawNorms(); }
    },
    frame(fraction, time) {
      if (!flow || flow.matrix.length !== state.matrix.length) return;
      drawNow(fraction);
      values.vertical("now", time);
      losses.vertical("now", time);
    },
    holes: true,
    fromTable({ rows }) {
      if (rows.length < 2 || rows.length > 8 || rows[0].length < 2 || rows[0].length > 8)
        throw new Error("this scene takes matrices from 2 by 2 to 8 by 8");
      const largest = Math.max(...rows.flat().map((value) => Math.abs(value ?? 0))), unit = largest > 9 || largest < 0.09 ? 10 ** Math.floor(Math.log10(largest || 1)) : 1;
      return { matrix: rows.map((line) => line.map((value) => value === null ? 0 : unit === 1 ? value : Number((value / unit).toPrecision(12)))), seen: rows.map((line) => line.map((value) => value === null ? 0 : 1)) };
    },
  };
}
