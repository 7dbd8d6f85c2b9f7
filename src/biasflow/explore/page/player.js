// Time: play, pause, and a slider to scrub. A view is told where in its frames it is, as a fraction of them.
import { button } from "./controls.js";
import { nice } from "./plot.js";

const SECONDS = 7; // of a whole film

export class Player {
  constructor(host, moved) {
    this.moved = moved;
    this.at = 1;
    this.times = [];
    this.playing = false;
    host.replaceChildren();
    const inside = document.createElement("div");
    inside.className = "inside";
    this.toggle = button("▶ Play", () => this.playing ? this.pause() : this.play(), { id: "play" });
    this.slider = document.createElement("input");
    Object.assign(this.slider, { type: "range", min: 0, max: 1, step: 0.001, value: 1, id: "time" });
    this.slider.setAttribute("aria-label", "Time of the training");
    this.slider.addEventListener("input", () => { this.pause(); this.go(this.slider.valueAsNumber); });
    this.output = document.createElement("output");
    this.jumps = document.createElement("span");
    this.jumps.className = "buttons";
    inside.append(this.toggle, this.output, this.slider, this.jumps);
    host.append(inside);
    this.film([]);
  }

  film(times, marks = []) {
    // times of the frames; marks: [[time, label]] to jump to
    this.times = times;
    const none = times.length < 2;
    this.toggle.disabled = this.slider.disabled = none;
    this.jumps.replaceChildren(...marks.slice(0, 8).map(([time, label]) =>
      button(label, () => { this.pause(); this.go(this.fractionOf(time)); }, { title: `to time ${nice(time)}` })));
    if (none) { this.pause(); this.output.textContent = "no flow yet"; }
    else if (this.again) { this.again = false; this.at = 0; this.play(); }
    else this.go(this.at);
  }

  fractionOf(time) {
    let k = this.times.findIndex((each) => each >= time);
    if (k < 0) k = this.times.length - 1;
    if (k === 0) return 0;
    const a = this.times[k - 1], b = this.times[k];
    return (k - 1 + Math.min(Math.max((time - a) / (b - a || 1), 0), 1)) / (this.times.length - 1);
  }

  go(fraction) {
    this.at = fraction;
    this.slider.value = fraction;
    const place = frameAt(fraction, this.times.length);
    const time = mixed(this.times, place);
    this.output.textContent = `t = ${nice(time)}`;
    this.slider.setAttribute("aria-valuetext", this.output.textContent);
    this.moved(fraction, time);
  }

  play() {
    if (this.times.length < 2) return;
    this.playing = true;
    this.toggle.textContent = "❚❚ Pause";
    if (this.at >= 0.999) this.at = 0;
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const next = Math.min(this.at + (now - before) / 1000 / SECONDS, 1);
      before = now;
      this.go(next);
      if (next >= 1) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  replay() {
    // play from the beginning once the next film is here
    this.pause();
    this.again = true;
  }

  pause() {
    this.playing = false;
    this.toggle.textContent = "▶ Play";
  }
}

export function frameAt(fraction, count) {
  // between which frames, and how far: [before, after, share]
  const place = Math.min(Math.max(fraction, 0), 1) * Math.max(count - 1, 0), before = Math.floor(place);
  return [before, Math.min(before + 1, count - 1), place - before];
}

export function mixed(values, [before, after, share]) {
  return values[before] + share * (values[after] - values[before]);
}
