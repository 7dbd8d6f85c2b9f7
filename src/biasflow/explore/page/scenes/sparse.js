// Sparse regression: coefficients, their way there, the loss, and norms from the kernel to the rich regime.
import { facts, provenTo, toSlider } from "../controls.js";
import { Plot, figure, logRange, nice, rangeOf } from "../plot.js";
import { frameAt, mixed } from "../player.js";
import { standardised } from "../tables.js";

const MARKS = [1, -1, -3, -5, -20, -300].map((e) => [toSlider(e, -300), e === 1 ? "10" : e === -1 ? "0.1" : `1e${e}`]);
const SHADES = ["blue", "red", "green", "purple", "amber"];

export function view(stage, { scene, change, player, recorded }) {
  let state = null, flow = null, limit = null, saddles = null, bounds = null, norms = null, descent = null, data = null;

  const stems = figure(stage, { title: "Coefficients.", legend: [["black", recorded ? "true" : "true: drag them", "ring"], ["blue", "network now"],
    ["red", "its limit"], ["green", "least ℓ1", "dashed"], ["purple", "least ℓ2", "dotted"]] });
  const coefficients = new Plot(stems.host, { label: "Coefficients of the network", x: { label: "coordinate", ticks: [] },
    y: { label: "coefficient" }, height: 280 });
  const told = facts(stems.host);

  const way = figure(stage, { title: "Their way there.", legend: [["blue", "coefficients of the flow"], ["ink", "path of saddles (α → 0)", "dotted"]] });
  const paths = new Plot(way.host, { label: "Coefficients against time", x: { label: "time t" }, y: { label: "coefficient" }, height: 280 });

  const fall = figure(stage, { title: "The loss.", legend: [["blue", "loss"], ["amber", "bound ½D₀/t (R)", "dashed"], ["green", "sharper bound ‖ν*‖²/2t²", "dashed"]] });
  const losses = new Plot(fall.host, { label: "Loss against time", x: { label: "time t" }, y: { label: "½‖Xβ − y‖²", log: true }, height: 240 });

  const scale = figure(stage, { title: "From the kernel to the rich regime.", legend: [["green", "ℓ1 norm of the limit"], ["purple", "ℓ2 norm"], ["ink", "your α", "dashed"]] });
  const regimes = new Plot(scale.host, { label: "Norms of the limit against the scale of the start",
    x: { label: "α", range: [-12, 1], format: (u) => MARKS.find(([at]) => at === u)[1], ticks: MARKS.map(([at]) => at) }, y: { label: "norm" }, height: 240 });
  const place = (exponent) => toSlider(exponent, -300);

  const truthOf = () => data?.truth ?? null;

  function drawCoefficients() {
    if (!limit) return;
    const d = limit.beta.length, xs = [...limit.beta.keys()], truth = state.table ? null : state.truth.map((row) => row[0]);
    const now = fits() ? current(player.at) : limit.beta;
    coefficients.ranges([-0.7, d - 0.3], widest(rangeOf([limit.beta, truth ?? [], limit.l1_end.beta, limit.l2_end.beta], { zero: true })));
    coefficients.stems("now", xs, now, { colour: "blue", width: Math.max(3, 160 / d), opacity: 0.55 });
    coefficients.curve("limit", ...rungs(limit.beta), { colour: "red", width: 4 });
    coefficients.curve("l1", ...rungs(limit.l1_end.beta), { colour: "green", width: 2.5, dash: "4 3" });
    coefficients.curve("l2", ...rungs(limit.l2_end.beta), { colour: "purple", width: 2.5, dash: "2 2" });
    if (truth && truth.length === d && !recorded)
      coefficients.handles("truth", truth.map((value, k) => [k, value]), {
        fixed: "x", step: [0, 0.05], colour: "black", radius: 7, hollow: true,
        name: (k) => `true coefficient ${k + 1}: ${nice(truth[k])}; arrow keys move it`,
        moved: (k, [, value], final) => {
          const next = state.truth.map((row) => [...row]);
          next[k] = [Math.abs(value) < 0.03 ? 0 : value];
          change({ truth: next }, final);
        },
      });
    else {
      coefficients.remove("truth");
      if (truth) coefficients.marks("truth-marks", truth.map((value, k) => [k, value]), { colour: "black", radius: 7, ring: true });
    }
  }

  // a short level line at each coordinate: what lies at the same height shows beside the handle
  const rungs = (beta) => [beta.flatMap((_, k) => [k - 0.42, k + 0.42, null]), beta.flatMap((value) => [value, value, null])];

  // a range that does not tremble while something is dragged: grown at once, shrunk only when far too large
  let kept = [-1, 1];
  function widest([low, high]) {
    const size = high - low;
    if (low < kept[0] || high > kept[1] || size < 0.5 * (kept[1] - kept[0])) kept = [Math.min(low, -0.3), Math.max(high, 0.3)];
    return kept;
  }

  // whether the flow that is here is one of the limit that is here: a table may have changed their length
  const fits = () => Boolean(limit && flow?.times.length && flow.beta.length === limit.beta.length);

  function current(fraction) {
    const at = frameAt(fraction, flow.times.length);
    return flow.beta.map((series) => mixed(series, at));
  }

  function drawFlow() {
    const some = flow && flow.times.length > 1;
    paths.removeWhere((id) => id.startsWith("path"));
    paths.removeWhere((id) => id.startsWith("saddle"));
    way.say(flow?.said ?? "");
    if (!some) { losses.removeWhere(() => true); player.film([]); return; }
    const end = flow.times.at(-1), truth = state.table ? null : state.truth;
    paths.ranges([0, end], rangeOf([...flow.beta, ...(saddles?.beta ?? [])], { zero: true }));
    flow.beta.forEach((series, k) => paths.curve(`path ${k}`, flow.times, series,
      truth && truth[k]?.[0] === 0 ? { colour: "quiet", width: 1.2, opacity: 0.7 } : { colour: SHADES[k % SHADES.length] }));
    if (saddles?.times.length) {
      const times = [...saddles.times, Math.max(end, saddles.times.at(-1))];
      saddles.beta.forEach((series, k) => {
        if (series.some((value) => value !== 0))
          paths.curve(`saddle ${k}`, times, [...series, series.at(-1)], { colour: "ink", dash: "2 4", width: 1.3, steps: true });
      });
    }
    drawLoss();
    const jumps = (saddles?.times ?? []).slice(1).filter((time) => time < end).slice(0, 6);
    player.film(flow.times, [[0, "start"], ...jumps.map((time, k) => [time, `saddle ${k + 1}`])]);
  }

  function drawLoss() {
    const end = flow.times.at(-1);
    losses.ranges([0, end], logRange([flow.loss], 7));
    losses.curve("loss", flow.times, flow.loss, { colour: "blue" });
    if (bounds?.objective.length === flow.times.length) {
      losses.curve("objective", flow.times, bounds.objective, { colour: "amber", dash: "6 4", width: 1.5 });
      losses.curve("sharp", flow.times, bounds.sharp, { colour: "green", dash: "6 4", width: 1.5 });
    } else { losses.remove("objective"); losses.remove("sharp"); }
  }

  function drawNorms() {
    if (norms) {
      const xs = norms.log10_alpha.map(place);
      regimes.ranges(null, rangeOf([norms.l1, norms.l2], { zero: true }));
      regimes.curve("l1", xs, norms.l1, { colour: "green" });
      regimes.curve("l2", xs, norms.l2, { colour: "purple" });
    }
    regimes.vertical("you", place(state.log10_alpha), { label: "your α" });
    if (limit) regimes.marks("here", [[place(state.log10_alpha), limit.l1, { colour: "green" }], [place(state.log10_alpha), limit.l2, { colour: "purple" }]], { radius: 5 });
    if (descent?.alpha) regimes.marks("descent", [[place(Math.log10(descent.alpha)), descent.l1]], { colour: "red", radius: 6, ring: true });
    else regimes.remove("descent");
  }

  function tell() {
    if (!limit) return;
    const rows = {
      "ℓ1 norm of the limit": `${nice(limit.l1)} (least possible ${nice(limit.l1_end.l1)})`,
      "ℓ2 norm of the limit": `${nice(limit.l2)} (least possible ${nice(limit.l2_end.l2)})`,
    };
    if (truthOf()) rows["distance from the truth"] = `${nice(limit.error)} (least ℓ1: ${nice(limit.l1_error)}, least ℓ2: ${nice(limit.l2_error)})`;
    rows["the limit"] = `${provenTo(limit.proof)} of the potential that it minimises; labels are met to ${nice(limit.residual)}`;
    if (descent) rows["gradient descent"] = descent.said ||
      `ends as from α ≈ ${nice(descent.alpha)}, ℓ1 norm ${nice(descent.l1)} (${descent.steps} steps, loss ${nice(descent.loss)})`;
    told(rows);
  }

  return {
    state(next) {
      state = next;
      if (state.log10_step <= scene.fields.log10_step.off || state.depth !== 2) descent = null;
      drawCoefficients();
      drawNorms();
    },
    part(name, value) {
      if (name === "data") { data = value; stems.say(data.said); return; }
      if (name === "limit") { limit = value; drawCoefficients(); drawNorms(); tell(); }
      if (name === "flow") { flow = value; bounds = null; saddles = state.depth === 2 ? saddles : null; drawFlow(); }
      if (name === "saddles") { saddles = value; drawFlow(); }
      if (name === "bounds") { bounds = value; if (flow?.times.length) drawLoss(); }
      if (name === "descent") { descent = value; tell(); drawNorms(); }
      if (name === "norms") { norms = value; drawNorms(); }
    },
    frame(fraction, time) {
      if (!flow?.times.length) return;
      paths.vertical("now", time);
      losses.vertical("now", time);
      if (fits()) coefficients.stems("now", [...limit.beta.keys()], current(fraction), { colour: "blue", width: Math.max(3, 160 / limit.beta.length), opacity: 0.55 });
    },
    most: scene.fields.table.most,
    fromTable({ rows }) {
      const columns = rows[0].map((_, k) => standardised(rows, k));
      if (columns.length > scene.fields.table.most_columns || columns.length < 2)
        throw new Error(`this scene takes 2 to ${scene.fields.table.most_columns} columns, the label in the last`);
      return { table: rows.map((_, i) => columns.map((column) => column[i])) };
    },
  };
}
