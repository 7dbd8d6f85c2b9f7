// A line through points: the network's function as it grows, its neurons, the loss, and endings from other starts.
import { button, facts, power, provenTo } from "../controls.js";
import { drawRests, logExtent, neuronsAt, withPlateaus } from "../neurons.js";
import { Plot, clamp, figure, nice } from "../plot.js";
import { toClaims } from "./claims.js";

const WORDS = { "-4": ", small", 1: ", large" };
const SPAN = [-3, 3], GRID = Array.from({ length: 161 }, (_, k) => -3 + 6 * k / 160);

export function view(stage, { scene, change, player, say, tools, recorded }) {
  let state = null, limit = null, flow = null, extent = null;
  const endings = new Map();

  // what the page is about, first: one network, one set of points, five sizes of the start
  const heading = document.createElement("h3");
  heading.textContent = `Same network, same points: only the size of the first weights differs.${recorded ? "" : " Click one to watch it learn."}`;
  const row = document.createElement("div");
  row.className = "row";
  stage.append(heading, row);
  const small = new Map();

  const main = figure(stage, { title: "The function.", legend: [["ink", recorded ? "points" : "points: drag them", "dot"], ["blue", "network now"],
    ["green", "simplest curve that fits (least norm)", "dashed"], ["purple", "if neurons could not turn (tangent kernel)", "dotted"],
    ["amber", "a neuron: at its kink, as high as its output weight", "dot"], ["ink", "slides along a point", "ring"]] });
  main.host.classList.add("wide");
  const plot = new Plot(main.host, { label: "The function that the network draws, with the points it is trained on",
    x: { label: "x", range: SPAN }, y: { label: "y", range: [-1.5, 1.5] }, height: 310 });
  const drawn = { colour: "blue", width: 5, opacity: 0.65 }; // broad and below: a curve that it covers is still seen
  plot.curve("now", [], [], drawn);
  const told = facts(main.host);

  const loss = figure(stage, { title: "The loss.", legend: [["blue", "loss"], ["amber", "at rest near a saddle"]] });
  const losses = new Plot(loss.host, { label: "Loss against time, with its plateaus", x: { label: "time t" }, y: { label: "loss", log: true }, height: 260 });
  const wheel = figure(stage, { title: "The neurons.", legend: [["blue", "push up", "dot"], ["red", "push down", "dot"], ["ink", "slides along a point", "ring"]] });
  const neurons = new Plot(wheel.host, { label: "Neurons in the plane of weight and bias, their distance from the middle logarithmic in their size",
    x: { label: "weight", range: [-1.15, 1.15], ticks: [0], format: () => "" }, y: { label: "bias", range: [-1.15, 1.15], ticks: [0], format: () => "" }, height: 260, square: true });

  if (!recorded) {
    const add = button("Add a point", () => addPoint(freePlace()), { id: "add-point" });
    const remove = button("Remove the last", () => removePoint(state.points.length - 1), { id: "remove-point" });
    const buttons = document.createElement("div");
    buttons.className = "buttons";
    buttons.append(add, remove);
    tools.append(buttons);
    toClaims(tools, () => ({ about: "relu", rows: state.points.map(([x, y]) => [x, 1, y]), width: Math.min(state.width, 40), key: state.key, log10_scale: state.log10_lambda }));
    plot.onEmpty(addPoint);
  }

  function freePlace() {
    // the middle of the widest gap
    const xs = [SPAN[0], ...state.points.map(([x]) => x).sort((a, b) => a - b), SPAN[1]];
    let widest = 0;
    for (let k = 0; k + 1 < xs.length; k++) if (xs[k + 1] - xs[k] > xs[widest + 1] - xs[widest]) widest = k;
    return [Number(((xs[widest] + xs[widest + 1]) / 2).toPrecision(3)), 0.3];
  }

  function addPoint(at) {
    if (state.points.length >= scene.fields.points.most) { say(`at most ${scene.fields.points.most} points`, true); return; }
    change({ points: [...state.points, apart(at, -1)] });
  }

  function removePoint(k) {
    if (state.points.length <= scene.fields.points.fewest) { say("one point has to stay", true); return; }
    change({ points: state.points.filter((_, i) => i !== k) });
  }

  function apart([x, y], k) {
    // not above another point: a function has one value at each x
    const near = (at) => state.points.some(([other], i) => i !== k && Math.abs(other - at) < 0.05);
    let best = x;
    for (let step = 0; near(best) && step < 300; step++) best = x + (step % 2 ? 1 : -1) * 0.01 * (step + 1);
    return [Number(clamp(best, ...SPAN).toPrecision(4)), y];
  }

  function drawPoints() {
    if (recorded) {
      plot.marks("points", state.points, { colour: "ink", radius: 6 });
      return;
    }
    const { points } = state; // a picture that is drawn anew before its points are still names the old ones
    plot.handles("points", points, {
      colour: "ink", step: [0.05, 0.05], name: (k) => `point ${k + 1} at x ${nice(points[k][0])}, y ${nice(points[k][1])}; arrow keys move it, Delete removes it`,
      moved: (k, at, final) => change({ points: state.points.map((point, i) => i === k ? apart(at, k) : point) }, final),
      removed: removePoint,
    });
  }

  function frame() {
    let reach = 1;
    for (const [, y] of state.points) reach = Math.max(reach, 1.35 * Math.abs(y));
    const xs = state.points.map(([x]) => x), low = Math.min(...xs) - 0.2, high = Math.max(...xs) + 0.2;
    limit?.least.forEach((y, k) => {
      if (limit.x[k] >= low && limit.x[k] <= high) reach = Math.max(reach, Math.min(1.1 * Math.abs(y), 6));
    });
    plot.ranges(null, [-Math.ceil(2 * reach) / 2, Math.ceil(2 * reach) / 2]);
  }

  function drawNow(fraction) {
    const now = neuronsAt(flow, fraction), ys = GRID.map((x) => {
      let sum = 0;
      for (const { a, w: [w, b], log } of now) { const z = w * x + b; if (z > 0) sum += a * z * Math.exp(2 * log); }
      return sum;
    });
    plot.curve("now", GRID, ys, drawn);
    const [low, high] = plot.y.range, colour = (a) => a > 0 ? "blue" : "red";
    plot.marks("kinks", now.filter(({ w }) => Math.abs(w[0]) > 1e-9).map(({ a, w: [w, b], log, slides }) =>
      [-b / w, clamp(a * Math.exp(log), low, high), { radius: slides ? 6 : 3.5, ring: slides, colour: slides ? "ink" : "amber" }])
      .filter(([x]) => x >= SPAN[0] && x <= SPAN[1]), { opacity: 0.9 });
    const [least, most] = extent;
    neurons.marks("neurons", now.map(({ a, w: [w, b], log, slides }) => {
      const r = clamp(1 - (most - log) / (most - least), 0.03, 1.05), size = Math.hypot(w, b) || 1;
      return [r * w / size, r * b / size, { colour: slides ? "ink" : colour(a), ring: slides, radius: slides ? 6 : 4 }];
    }), { opacity: 0.8 });
  }

  function noFlow(said) {
    // nothing of an older one is left to be taken for this one's
    for (const each of [losses, neurons]) each.removeWhere(() => true);
    plot.curve("now", [], [], drawn);
    plot.remove("kinks");
    player.film([]);
    main.say(said);
  }

  function drawFlow() {
    extent = logExtent(flow, 0.15);
    drawRests(losses, flow);
    let saddle = 0;
    const marks = flow.plateaus.map(([first, last, , name]) => [name === "escape" ? last : (first + last) / 2, name === "escape" ? "begins to learn" : `saddle ${++saddle}`]);
    player.film(flow.times, flow.times.length > 1 ? [[0, "start"], ...marks] : []);
    loss.say(flow.said);
    main.say(flow.said || limit?.said || "");
  }

  function tell() {
    if (!limit) return;
    const rows = {}, share = flow?.norm / limit.least_norm;
    if (flow && !flow.last) rows["it has drawn"] = "still learning…";
    else if (flow?.said) rows["it has drawn"] = "no curve through all points yet";
    else if (flow) rows["it has drawn"] = share < 1.15 ? "the simplest curve through the points, or nearly"
      : share < 2 ? "a curve that is not much less simple than it could be" : "a far less simple curve: the wiggles of its start are left";
    const least = `the least is ${nice(limit.least_norm)}, ${provenTo(limit.proof)}${limit.unique === false ? "; other curves have it, too" : ""}`;
    rows["norm (how far from simple)"] = !flow?.last ? least : flow.said ? `${nice(flow.norm)}, of a curve that does not fit; ${least}`
      : `${nice(flow.norm)}, ${nice(share)} times the least${share < 1 ? ` (labels are still missed by ${nice(100 * flow.missed)}%)` : ""}; ${least}`;
    told(rows);
  }

  function drawEnding(exponent, ys) {
    let one = small.get(exponent);
    if (!one) {
      const made = figure(row, { title: `λ = ${power(exponent, {})}` });
      made.host.dataset.exponent = exponent;
      if (!recorded) made.host.querySelector("figcaption").replaceChildren(
        button(`λ = ${power(exponent, {})}${WORDS[exponent] ?? ""}`, () => { change({ log10_lambda: exponent }); player.replay(); }, { title: "start with weights of this size" }));
      one = new Plot(made.host, { label: `What the network draws from a start of size ${power(exponent, {})}`, x: { range: SPAN }, y: { range: plot.y.range }, height: 96, bare: true });
      small.set(exponent, one);
      const sorted = [...row.children].sort((a, b) => a.dataset.exponent - b.dataset.exponent);
      if (sorted.some((each, k) => each !== row.children[k])) row.append(...sorted);
      chosen();
    }
    one.ranges(null, plot.y.range);
    const xs = limit.x;
    one.curve("least", xs, limit.least, { colour: "green", dash: "5 4", width: 1.5 });
    one.curve("end", xs, ys, { colour: "blue", width: 2 });
    one.marks("points", state.points, { colour: "ink", radius: 3 });
  }

  function chosen() {
    // the small picture that is the large one
    for (const each of row.children) each.querySelector("button")?.setAttribute("aria-pressed", String(Number(each.dataset.exponent) === state.log10_lambda));
  }

  return {
    state(next) {
      state = next;
      frame();
      drawPoints();
      chosen();
    },
    part(name, value) {
      if (name === "limit") {
        limit = value;
        if (flow) flow = { ...flow, last: false }; // of the points before
        frame();
        plot.curve("least", limit.x, limit.least, { colour: "green", dash: "8 5", width: 2 });
        if (limit.kernel) plot.curve("kernel", limit.x, limit.kernel, { colour: "purple", dash: "2 4", width: 2 });
        else plot.remove("kernel");
        main.say(limit.said);
        drawPoints();
      }
      if (name === "flow") {
        flow = value.times.length ? { ...value, plateaus: [] } : null;
        if (flow) drawFlow(); else noFlow(value.said);
      }
      if (name === "plateaus" && flow) { flow = withPlateaus(flow, value.plateaus); drawFlow(); }
      if (name === "unique" && limit) limit = { ...limit, ...value };
      if (name === "ending") { endings.set(value.log10_lambda, value.y); drawEnding(value.log10_lambda, value.y); }
      tell();
    },
    frame(fraction, time) {
      if (!flow) return;
      drawNow(fraction);
      losses.vertical("now", time);
    },
    most: scene.fields.points.most,
    fromTable({ rows }) {
      if (rows[0].length < 2) throw new Error("this scene needs two columns, x and y");
      const scaled = (k, reach) => {
        const values = rows.map((line) => line[k]), low = Math.min(...values), high = Math.max(...values);
        return values.map((value) => Number((high > low ? reach * (2 * (value - low) / (high - low) - 1) : 0.5).toPrecision(5)));
      };
      const xs = scaled(0, 2.5), ys = scaled(rows[0].length - 1, 1);
      return { points: xs.map((x, k) => [x, ys[k]]) };
    },
  };
}
