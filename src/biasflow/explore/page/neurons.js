// The film of a ReLU network, as relu_film.py sends it: neurons at a moment, their sizes, and the loss with its rests.
import { logRange } from "./plot.js";
import { frameAt, mixed } from "./player.js";

export function neuronsAt(flow, fraction) {
  // [{a, w: [first, second], log, slides}]: directions of length one, and the logarithm of the norm
  const at = frameAt(fraction, flow.times.length), now = Math.round(at[0] + at[2]);
  const slides = new Set(flow.slides.filter(([, first, last]) => first <= now && now <= last).map(([k]) => k));
  return flow.units.map(([a, u, v], k) => ({ a: mixed(a, at), w: [mixed(u, at), mixed(v, at)], log: mixed(flow.logs[k], at), slides: slides.has(k) }));
}

export function logExtent(flow, room) {
  // from below the least norm to the largest, as logarithms; room: how far below, as a share of what is between
  let low = Infinity, high = -Infinity;
  for (const series of flow.logs) for (const value of series) { low = Math.min(low, value); high = Math.max(high, value); }
  return [low - room * (high - low) - 0.7, high];
}

export function drawRests(losses, flow) {
  // the loss against time, and where it rests
  const end = flow.times.at(-1);
  losses.ranges([0, end], logRange([flow.loss], 5));
  losses.curve("loss", flow.times, flow.loss, { colour: "blue" });
  losses.removeWhere((id) => id.startsWith("rest"));
  flow.plateaus.forEach(([first, last, height], k) =>
    losses.curve(`rest ${k}`, [first, Math.min(last, end)], [height, height], { colour: "amber", width: 7, opacity: 0.45 }));
}

export function withPlateaus(flow, plateaus) {
  return { ...flow, plateaus: plateaus.filter(([first]) => first < flow.times.at(-1)) };
}
