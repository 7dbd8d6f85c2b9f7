// Neurons in the plane: they turn, gather and grow; the exact timeline of vanishing starts beside the flow's own.
import { button, facts, provenTo } from "../controls.js";
import { drawRests, logExtent, neuronsAt, withPlateaus } from "../neurons.js";
import { Plot, clamp, figure, nice } from "../plot.js";
import { toClaims } from "./claims.js";

const SPAN = [-2.6, 2.6], RIM = 1.6; // of the picture; the radius at which the largest neurons lie
const SHORTEST = 0.1;

export function view(stage, { scene, change, player, say, tools, recorded }) {
  let state = null, limit = null, timeline = null, flow = null, groups = null, least = null, extent = null, right = false;

  const main = figure(stage, { title: "The neurons.", legend: [["blue", "neurons that push up", "dot"], ["red", "that push down", "dot"],
    ["ink", "slides along an input’s edge", "ring"], ["green", "where theory says they gather", "dashed"], ["quiet", "edges: a neuron answers to an input on one side only", "dotted"]] });
  const plot = new Plot(main.host, { label: "Neurons by direction and size, with the inputs they are trained on",
    x: { label: "first input", range: SPAN }, y: { label: "second input", range: SPAN }, height: 460, square: true });
  const told = facts(main.host);

  const side = document.createElement("figure");
  stage.append(side);
  const turn = figure(side, { title: "Directions against time.", legend: [["blue", "push up"], ["red", "push down"], ["green", "where they gather", "dashed"]] });
  const angles = new Plot(turn.host, { label: "Angle of every neuron against time", x: { label: "time t" },
    y: { label: "degrees", range: [-190, 190], ticks: [-180, -90, 0, 90, 180] }, height: 190 });
  const fall = figure(side, { title: "The loss.", legend: [["blue", "loss"], ["amber", "at rest near a saddle"], ["green", "a group grows, exactly, as λ → 0", "dashed"]] });
  const losses = new Plot(fall.host, { label: "Loss against time, with the times at which theory says groups grow", x: { label: "time t" }, y: { label: "loss", log: true }, height: 210 });
  for (const host of [turn.host, fall.host]) host.style.margin = "0";

  const labels = document.createElement("div");
  if (!recorded) {
    const row = document.createElement("div");
    row.className = "buttons";
    const keep = button("Keep two inputs perpendicular", () => {
      right = !right;
      keep.setAttribute("aria-pressed", String(right));
      if (!right) return;
      if (state.points.length !== 2) { right = false; keep.setAttribute("aria-pressed", "false"); say("two inputs can be perpendicular in the plane; remove the others first", true); return; }
      change({ points: turned(state.points, 0) });
    }, { id: "perpendicular", "aria-pressed": "false" });
    row.append(button("Add an input", add, { id: "add-point" }), button("Remove the last", () => remove(state.points.length - 1), { id: "remove-point" }), keep);
    labels.className = "control";
    tools.append(row, labels);
    toClaims(tools, () => ({ about: "relu", rows: state.points, width: Math.min(state.width, 40), key: state.key, log10_scale: state.log10_lambda }));
    plot.onEmpty(([x, y]) => addAt([x, y]));
  }

  function addAt([x, y]) {
    const { most } = scene.fields.points;
    if (state.points.length >= most) { say(`at most ${most} inputs`, true); return; }
    change({ points: [...state.points, [...away([x, y]), state.points.length % 2 ? -1 : 1]] });
  }

  function add() {
    const angle = 2.4 * state.points.length + 0.6;
    addAt([1.5 * Math.cos(angle), 1.5 * Math.sin(angle)].map((value) => Number(value.toPrecision(3))));
  }

  function remove(k) {
    if (state.points.length < 2) { say("one input has to stay", true); return; }
    change({ points: state.points.filter((_, i) => i !== k) });
  }

  function away([x, y]) {
    const size = Math.hypot(x, y);
    return size >= SHORTEST ? [x, y] : size ? [x, y].map((value) => Number((1.02 * value * SHORTEST / size).toPrecision(4))) : [SHORTEST, 0];
  }

  function turned(points, fixed) {
    // the other input, as long as it was, perpendicular to this one
    const [x, y] = points[fixed], other = points[1 - fixed];
    const at = other[0] * -y + other[1] * x >= 0 ? 1 : -1;
    let factor = at * Math.hypot(other[0], other[1]) / Math.hypot(x, y);
    factor *= Math.min(1, 2.5 / Math.max(Math.abs(factor * x), Math.abs(factor * y)));
    const next = points.map((point) => [...point]);
    next[1 - fixed] = [-factor * y, factor * x, other[2]];
    return next;
  }

  function drawPoints() {
    const { points } = state, colour = (k) => points[k][2] > 0 ? "blue" : points[k][2] < 0 ? "red" : "quiet";
    plot.removeWhere((id) => id.startsWith("edge") || id.startsWith("ray"));
    state.points.forEach(([x, y], k) => {
      const size = Math.hypot(x, y) / 4;
      plot.curve(`edge ${k}`, [y / size, -y / size], [-x / size, x / size], { colour: "quiet", dash: "1 5", width: 1.2 });
      plot.curve(`ray ${k}`, [0, x], [0, y], { colour: colour(k), width: 1.2, opacity: 0.5 });
    });
    if (recorded) { plot.marks("points", state.points.map(([x, y], k) => [x, y, { colour: colour(k) }]), { radius: 8 }); return; }
    plot.handles("points", points, {
      colour, step: [0.05, 0.05], radius: 9,
      name: (k) => `input ${k + 1} at ${nice(points[k][0])}, ${nice(points[k][1])} with label ${nice(points[k][2])}; arrow keys move it, Delete removes it`,
      moved: (k, at, final) => {
        const [x, y] = away(at.map((value) => clamp(value, -2.5, 2.5)));
        const next = state.points.map((point, i) => i === k ? [x, y, point[2]] : point);
        change({ points: right && next.length === 2 ? turned(next, k) : next }, final);
      },
      removed: remove,
    });
  }

  function drawLabels() {
    if (recorded) return;
    while (labels.children.length > state.points.length) labels.lastChild.remove();
    state.points.forEach(([, , value], k) => {
      let row = labels.children[k];
      if (!row) {
        row = document.createElement("div");
        row.className = "row";
        const words = document.createElement("label"), input = document.createElement("input");
        words.textContent = `Label of input ${k + 1}`;
        words.htmlFor = input.id = `label-${k}`;
        Object.assign(input, { type: "number", min: -3, max: 3, step: 0.1 });
        input.addEventListener("input", () => {
          if (!input.validity.valid && !input.validity.stepMismatch || !Number.isFinite(input.valueAsNumber)) return;
          change({ points: state.points.map((point, i) => i === k ? [point[0], point[1], input.valueAsNumber] : point) });
        });
        row.append(words, input);
        labels.append(row);
      }
      const input = row.lastChild;
      if (document.activeElement !== input) input.value = Number(value.toPrecision(4));
    });
  }

  function drawNow(fraction) {
    const [low, high] = extent;
    plot.marks("neurons", neuronsAt(flow, fraction).map(({ a, w: [u, v], log, slides }) => {
      const r = RIM * clamp(1 - (high - log) / (high - low), 0.03, 1.05), size = Math.hypot(u, v) || 1;
      return [r * u / size, r * v / size, { colour: slides ? "ink" : a > 0 ? "blue" : "red", ring: slides, radius: slides ? 6 : 4.5 }];
    }), { opacity: 0.75 });
  }

  const circle = Array.from({ length: 97 }, (_, k) => 2 * Math.PI * k / 96);
  plot.curve("rim", circle.map((at) => RIM * Math.cos(at)), circle.map((at) => RIM * Math.sin(at)), { colour: "rule", width: 1.5 });

  function drawLimit() {
    plot.removeWhere((id) => id.startsWith("gather"));
    angles.removeWhere((id) => id.startsWith("gather"));
    limit.places.forEach(({ direction: [u, v], sign }, k) => {
      plot.curve(`gather ${k}`, [0, RIM * 1.12 * u], [0, RIM * 1.12 * v], { colour: "green", dash: "6 4", width: 2 });
      plot.marks(`gather end ${k}`, [[RIM * 1.12 * u, RIM * 1.12 * v, { colour: sign > 0 ? "blue" : "red" }]], { radius: 6, ring: true });
      const angle = 180 / Math.PI * Math.atan2(v, u);
      angles.curve(`gather ${k}`, angles.x.range, [angle, angle], { colour: "green", dash: "6 4", width: 1.5 });
    });
  }

  function noFlow(said) {
    // nothing of an older one is left to be taken for this one's
    for (const each of [losses, angles]) each.removeWhere(() => true);
    plot.remove("neurons");
    player.film([]);
    fall.say(said);
  }

  function drawFlow() {
    const end = flow.times.at(-1);
    extent = logExtent(flow, 0.35);
    angles.ranges([0, end], null);
    drawRests(losses, flow);
    angles.removeWhere((id) => id.startsWith("neuron"));
    flow.units.forEach(([a, u, v], k) => {
      const xs = [], ys = [];
      let before = null;
      flow.times.forEach((time, i) => {
        const angle = 180 / Math.PI * Math.atan2(v[i], u[i]);
        if (before !== null && Math.abs(angle - before) > 180) { xs.push(null); ys.push(null); }
        xs.push(time); ys.push(angle);
        before = angle;
      });
      angles.curve(`neuron ${k}`, xs, ys, { colour: a.at(-1) > 0 ? "blue" : "red", width: 1.2, opacity: 0.55 });
    });
    if (limit) drawLimit();
    drawTimeline();
    const marks = [[0, "start"]];
    if (limit && limit.until > 0 && limit.until < end) marks.push([limit.until, "aligned"]);
    for (const { time, sign } of timeline?.groups ?? []) if (time > 0 && time < end) marks.push([time, sign > 0 ? "blue grows" : "red grows"]);
    player.film(flow.times, marks.sort((a, b) => a[0] - b[0]));
    fall.say(flow.said);
  }

  function drawTimeline() {
    losses.removeWhere((id) => id.startsWith("exact"));
    if (!flow) return;
    const [low, high] = losses.y.range;
    for (const { time, sign } of timeline?.groups ?? [])
      losses.curve(`exact ${sign}`, [time, time], [low, high], { colour: "green", dash: "6 4", width: 1.8 });
  }

  function tell() {
    const rows = {};
    if (limit?.places.length) rows["neurons gather"] = limit.places.slice(0, 4).map(({ neurons, sign, rate }) => `${neurons} ${sign > 0 ? "blue" : "red"}, growing as e^(${nice(rate)}·t)`).join("; ");
    if (limit?.said) rows["neurons gather"] = limit.said;
    for (const { sign, time } of timeline?.groups ?? []) {
      const own = groups?.grown.find((each) => each.sign === sign);
      rows[`${sign > 0 ? "blue" : "red"} is half grown at`] = `t = ${nice(time)} by theory (λ → 0)${own ? `, t = ${nice(own.time)} in this flow` : ""}`;
    }
    if (timeline?.said) rows["exact timeline"] = timeline.said;
    if (groups) rows["groups at the end"] = groups.groups.slice(0, 6).map(({ neurons, sign, share }) => `${neurons} ${sign > 0 ? "blue" : "red"} (${nice(100 * share)}%)`).join(", ")
      + (groups.groups.length > 6 ? `, and ${groups.groups.length - 6} smaller ones` : "") || "none";
    if (flow?.norm && least) rows["norm at the end"] = `${nice(flow.norm)}${flow.said ? ", of a network that does not fit all labels" : ""}${
      least.norm ? `; the least of all that fit is ${nice(least.norm)}, ${provenTo(least.proof)}` : ""}`;
    if (least?.said) rows["least norm"] = least.said;
    told(rows);
  }

  return {
    state(next) { state = next; drawPoints(); drawLabels(); },
    part(name, value) {
      if (name === "limit") { limit = value; groups = least = null; drawLimit(); }
      if (name === "timeline") { timeline = value; drawTimeline(); }
      if (name === "flow") {
        flow = value.times.length ? { ...value, plateaus: [] } : null;
        if (flow) drawFlow(); else noFlow(value.said);
      }
      if (name === "plateaus" && flow) { flow = withPlateaus(flow, value.plateaus); drawFlow(); }
      if (name === "clusters") groups = value;
      if (name === "least") least = value;
      tell();
    },
    frame(fraction, time) {
      if (!flow) return;
      drawNow(fraction);
      angles.vertical("now", time);
      losses.vertical("now", time);
    },
    most: scene.fields.points.most,
    fromTable({ rows }) {
      if (rows[0].length < 3) throw new Error("this scene needs three columns: two inputs and the label");
      const most = (from, to) => Math.max(...rows.flatMap((row) => row.slice(from, to).map(Math.abs))) || 1;
      const inputs = 2 / most(0, 2), label = 1 / most(rows[0].length - 1);
      return { points: rows.map((row) => [...away([Number((inputs * row[0]).toPrecision(5)), Number((inputs * row[1]).toPrecision(5))]), Number((label * row.at(-1)).toPrecision(5))]) };
    },
  };
}
