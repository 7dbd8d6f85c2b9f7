// Which boundary?: two classes in the plane, three max margins, and the network that trains between them.
import { button, facts } from "../controls.js";
import { Plot, clamp, contour, figure, nice, rangeOf } from "../plot.js";
import { frameAt, mixed } from "../player.js";
import { toClaims } from "./claims.js";

const SPAN = [-1, 1], COUNT = 49, TICKS = Array.from({ length: COUNT }, (_, k) => -1 + 2 * k / (COUNT - 1));
const APART = 0.04; // as in boundary_scene.py: nearer points of two classes are refused
const ENDS = [["f1", "green", "9 5"], ["f2", "purple", "2 4"], ["tangent", "amber", "6 3"]];

export function view(stage, { scene, change, player, say, tools, recorded }) {
  let state = null, kernels = null, limit = null, flow = null, brush = 1;

  const main = figure(stage, { title: "The boundary.", legend: [["blue", "one class", "dot"], ["red", "the other", "dot"], ["ink", "network now"],
    ["green", "largest margin, all weights trained (F1)"], ["purple", "largest margin, last layer alone (F2)", "dotted"],
    ["amber", "largest margin of the tangent kernel", "dashed"]] });
  const plot = new Plot(main.host, { label: "Two classes of points in the plane and the boundary that the network draws between them",
    x: { label: "x", range: SPAN }, y: { label: "y", range: SPAN }, height: 460, square: true });
  const told = facts(main.host);

  const side = document.createElement("figure");
  stage.append(side);
  const rise = figure(side, { title: "The margin of the network, as a share of the largest possible.", legend: [["blue", "margin / γ₁"], ["green", "no network is above", "dashed"]] });
  const margins = new Plot(rise.host, { label: "Margin over its largest possible value against time",
    x: { label: "time t", log: true }, y: { label: "margin / γ₁", range: [-0.5, 1.1] }, height: 200 });
  const near = figure(side, { title: "How far the network is from each of the three.", legend: ENDS.map(([name, colour, dash]) =>
    [colour, { f1: "from F1", f2: "from F2", tangent: "from the tangent kernel" }[name], dash.startsWith("2") ? "dotted" : "dashed"]) });
  const angles = new Plot(near.host, { label: "Angle between the network and each max-margin classifier against time",
    x: { label: "time t", log: true }, y: { label: "degrees", range: [0, 90] }, height: 200 });
  for (const host of [rise.host, near.host]) host.style.margin = "0";

  if (!recorded) {
    const row = document.createElement("div"), classes = [[1, "Paint blue"], [-1, "Paint red"]];
    row.className = "buttons";
    const brushes = classes.map(([label, words]) => button(words, () => { brush = label; show(); }, { id: `paint-${label > 0 ? "blue" : "red"}` }));
    const show = () => brushes.forEach((each, k) => each.setAttribute("aria-pressed", String(classes[k][0] === brush)));
    show();
    const add = button("Add a point", () => addPoint(freePlace()), { id: "add-point" });
    const remove = button("Remove the last", () => removePoint(state.points.length - 1), { id: "remove-point" });
    row.append(...brushes, add, remove);
    const help = document.createElement("p");
    help.className = "help";
    help.textContent = "Click in the picture to paint a point, drag one to move it, double-click to remove it. By keys: arrows move, Delete removes.";
    const host = document.createElement("div");
    host.className = "control";
    host.append(row, help);
    tools.append(host);
    toClaims(tools, () => ({ about: "margin", rows: state.points, width: Math.min(2 * state.pairs, 40), key: state.key, log10_scale: state.log10_sigma }));
    plot.onClick(addPoint);
  }

  function freePlace() {
    // as far from all others as a coarse grid has it
    let best = [0, 0], reach = -1;
    for (let x = -0.9; x < 1; x += 0.15)
      for (let y = -0.9; y < 1; y += 0.15) {
        const least = Math.min(...state.points.map(([u, v]) => Math.hypot(u - x, v - y)));
        if (least > reach) { reach = least; best = [x, y]; }
      }
    return best.map((value) => Number(value.toFixed(2)));
  }

  function addPoint([x, y]) {
    const { most } = scene.fields.points;
    if (state.points.length >= most) { say(`at most ${most} points`, true); return; }
    if (touches([x, y], brush, -1)) { say("a point of the other class is there", true); return; }
    change({ points: [...state.points, [x, y, brush]] });
  }

  function removePoint(k) {
    const left = state.points.filter((_, i) => i !== k);
    if (new Set(left.map((point) => point[2])).size < 2) { say("each class keeps a point", true); return; }
    change({ points: left });
  }

  const touches = ([x, y], label, k) =>
    state.points.some(([u, v, other], i) => i !== k && other !== label && Math.hypot(u - x, v - y) < 1.05 * APART);

  function drawPoints() {
    const { points } = state, colour = (k) => points[k][2] > 0 ? "blue" : "red";
    if (recorded) {
      plot.marks("points", state.points.map(([x, y], k) => [x, y, { colour: colour(k) }]), { radius: 7 });
      return;
    }
    plot.handles("points", points, {
      colour, step: [0.02, 0.02],
      name: (k) => `${colour(k)} point ${k + 1} at x ${nice(points[k][0])}, y ${nice(points[k][1])}; arrow keys move it, Delete removes it`,
      moved: (k, at, final) => {
        if (touches(at, state.points[k][2], k)) return;
        change({ points: state.points.map((point, i) => i === k ? [...at, point[2]] : point) }, final);
      },
      removed: removePoint,
    });
  }

  function drawEnds() {
    for (const [name, colour, dash] of ENDS) {
      const values = name === "f1" ? limit?.f1 : kernels?.[name];
      if (values) plot.curve(name, ...contour(TICKS, values), { colour, dash: name === "f1" ? "" : dash, width: name === "f1" ? 3 : 2, opacity: name === "f1" ? 0.75 : 1 });
      else plot.remove(name);
    }
  }

  function valuesAt(fraction) {
    const at = frameAt(fraction, flow.times.length);
    const now = flow.neurons.map((neuron) => neuron.map((series) => mixed(series, at)));
    return TICKS.map((y) => TICKS.map((x) => {
      let sum = 0;
      for (const [a, u, v, b] of now) { const z = u * x + v * y + b; if (z > 0) sum += a * z; }
      return sum;
    }));
  }

  function drawNow(fraction) {
    const values = valuesAt(fraction);
    let size = 1e-9;
    for (const row of values) for (const value of row) size = Math.max(size, Math.abs(value));
    plot.raster("side", COUNT, COUNT, (i, j) => {
      const part = clamp(2.5 * values[j][i] / size, -1, 1);
      return part > 0 ? [70, 120, 235, 200 * part] : [215, 85, 45, -200 * part];
    }, SPAN, SPAN, 0.4);
    plot.curve("now", ...contour(TICKS, values), { colour: "ink", width: 2.5 });
  }

  function noFlow(said) {
    // nothing of an older one is left to be taken for this one's
    for (const each of [margins, angles]) each.removeWhere(() => true);
    for (const id of ["side", "now"]) plot.remove(id);
    player.film([]);
    rise.say(said);
  }

  function drawFlow() {
    const first = flow.times[1], end = flow.times.at(-1), span = [first, end];
    const share = flow.margin.slice(1), times = flow.times.slice(1), [low] = rangeOf([share]);
    margins.ranges(span, [clamp(low, -1, 0) - 0.05, Math.max(1.08, ...share)]);
    margins.curve("one", span, [1, 1], { colour: "green", dash: "6 4", width: 1.5 });
    margins.curve("margin", times, share, { colour: "blue" });
    const series = ENDS.map(([name]) => flow.angles[name].slice(1));
    angles.ranges(span, [0, Math.max(20, rangeOf(series)[1])]);
    ENDS.forEach(([name, colour, dash], k) => angles.curve(name, times, series[k], { colour, dash }));
    const right = flow.margin.findIndex((value, k) => k > 0 && value > 0), marks = [[0, "start"]];
    if (right > 0) marks.push([flow.times[right], "all points right"]);
    const kernel = flow.angles.tangent, nearest = kernel.reduce((best, value, k) => value !== null && (best < 0 || value < kernel[best]) ? k : best, -1);
    if (nearest > 0 && nearest < flow.times.length - 1 && kernel[nearest] < 15) marks.push([flow.times[nearest], "nearest to the kernel"]);
    marks.push([end, "end"]);
    player.film(flow.times, marks);
    rise.say(flow.said);
  }

  function bracket({ low, high, kind }) {
    // rounded outwards already: the number lies between what is shown
    return `between ${low} and ${high}, ${kind === "heuristic" ? "the upper bound not proven" : "proven"}`;
  }

  function tell(fraction = player.at) {
    const rows = {};
    if (limit) rows["largest margin γ₁, all weights"] = `${bracket(limit.gamma1)} (${limit.neurons} neurons)`;
    if (kernels) rows["largest margin γ₂, last layer, in units of its own norm"] = bracket(kernels.gamma2);
    if (kernels?.said) rows["tangent kernel"] = kernels.said;
    if (flow?.times.length) {
      const share = mixed(flow.margin, frameAt(fraction, flow.times.length));
      rows["network now"] = share > 0 ? `${nice(100 * share)}% of γ₁` : "some points are on the wrong side";
    }
    told(rows);
  }

  return {
    state(next) { state = next; drawPoints(); },
    part(name, value) {
      if (name === "kernels") { kernels = value; drawEnds(); }
      if (name === "limit") { limit = value; drawEnds(); }
      if (name === "flow") {
        flow = value.times.length ? value : null;
        if (flow) drawFlow(); else noFlow(value.said);
      }
      tell();
    },
    frame(fraction, time) {
      if (!flow?.times.length) return;
      drawNow(fraction);
      const shown = Math.max(time, flow.times[1]);
      margins.vertical("now", shown);
      angles.vertical("now", shown);
      tell(fraction);
    },
    most: scene.fields.points.most,
    fromTable({ rows }) {
      if (rows[0].length < 3) throw new Error("this scene needs three columns: x, y and the class");
      const classes = [...new Set(rows.map((row) => row.at(-1)))].sort((a, b) => a - b);
      if (classes.length !== 2) throw new Error(`the last column is the class and has two values, found ${classes.length}`);
      const both = rows.flatMap((row) => row.slice(0, 2)), columns = [0, 1].map((k) => rows.map((row) => row[k]));
      if (both.length < 4) throw new Error("this scene needs two rows at least");
      const middle = columns.map((values) => (Math.min(...values) + Math.max(...values)) / 2);
      const reach = Math.max(...columns.map((values) => Math.max(...values) - Math.min(...values))) / 2 || 1;
      return { points: rows.map((row) => [...[0, 1].map((k) => Number((0.9 * (row[k] - middle[k]) / reach).toFixed(4))), row.at(-1) === classes[1] ? 1 : -1]) };
    },
  };
}
