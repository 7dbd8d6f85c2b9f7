// Drawings in SVG: axes, curves, points that can be dragged by pointer and by keys. Colours are the page's own.

const NS = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, parent = null) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

export function figure(stage, { title, size = "", legend = [] }) {
  // A figure with a caption of plain text; legend: [[colour variable, text, "dashed", "dotted", "dot" or "ring"?]]
  const host = document.createElement("figure");
  if (size) host.className = size;
  const caption = document.createElement("figcaption");
  const strong = document.createElement("strong");
  strong.textContent = title;
  const said = document.createElement("span");
  caption.append(strong, " ", said);
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [colour, text, dash] of legend) {
    const item = document.createElement("li"), swatch = document.createElement("span");
    swatch.className = `swatch ${dash ?? ""}`;
    swatch.style.borderColor = `var(--${colour})`;
    item.append(swatch, text);
    list.append(item);
  }
  host.append(caption, ...(legend.length ? [list] : []));
  stage.append(host);
  return { host, say: (text) => (said.textContent = text) };
}

export function nice(value) {
  // a number for readers: four digits at most
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  return String(Number(value.toPrecision(4)));
}

export class Plot {
  // axes: {label, log?, range: [low, high]}; logarithmic axes take positive numbers
  // square: as wide as it is high, so that angles are angles; height is then the most it takes
  constructor(host, { label, x = {}, y = {}, height = 260, bare = false, square = false }) {
    this.edge = bare ? [6, 6, 6, 6] : [54, 14, 10, 38]; // left, right, top, bottom
    this.square = square ? height : null;
    this.x = { log: false, range: x.log ? [1e-3, 1] : [0, 1], label: "", ...x };
    this.y = { log: false, range: y.log ? [1e-3, 1] : [0, 1], label: "", ...y };
    this.height = height;
    this.items = new Map();
    this.svg = element("svg", { class: "plot", role: bare ? "img" : "group", "aria-label": label });
    this.bare = bare;
    this.back = element("g", { "aria-hidden": "true" }, this.svg);
    this.clip = `clip-${Math.random().toString(36).slice(2)}`;
    this.clipRect = element("rect", {}, element("clipPath", { id: this.clip }, element("defs", {}, this.svg)));
    this.front = element("g", { "aria-hidden": "true", "pointer-events": "none" }, this.svg);
    this.top = element("g", {}, this.svg); // what can be held lies above everything else
    host.append(this.svg);
    this.width = 0;
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  resize() {
    const width = Math.max(120, Math.round(this.svg.parentElement?.clientWidth || 480));
    if (width === this.width) return;
    this.width = width;
    if (this.square) {
      const [, , top, bottom] = this.edge, side = Math.max(Math.min(width - 68, this.square - top - bottom), 60);
      const rest = Math.max(width - side - 68, 0) / 2;
      this.edge = [54 + rest, 14 + rest, top, bottom];
      this.height = side + top + bottom;
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.redraw();
  }

  ranges(x, y) {
    const same = (a, b) => a[0] === b[0] && a[1] === b[1];
    if ((!x || same(x, this.x.range)) && (!y || same(y, this.y.range))) return;
    if (x) this.x.range = x;
    if (y) this.y.range = y;
    this.redraw();
  }

  redraw() {
    const [LEFT, RIGHT, TOP, BOTTOM] = this.edge;
    const box = { x: LEFT, y: TOP, width: this.width - LEFT - RIGHT, height: this.height - TOP - BOTTOM };
    for (const [key, value] of Object.entries(box)) this.clipRect.setAttribute(key, Math.max(value, 0));
    this.axes();
    for (const item of this.items.values()) item.draw();
  }

  px(value) {
    const [left, right] = this.edge;
    return left + share(value, this.x) * (this.width - left - right);
  }

  py(value) {
    const [, , top, bottom] = this.edge;
    return this.height - bottom - share(value, this.y) * (this.height - top - bottom);
  }

  at(event) {
    // data coordinates of a pointer
    const [LEFT, RIGHT, TOP, BOTTOM] = this.edge;
    const box = this.svg.getBoundingClientRect(), zoom = this.width / box.width;
    const u = ((event.clientX - box.left) * zoom - LEFT) / (this.width - LEFT - RIGHT);
    const v = (this.height - BOTTOM - (event.clientY - box.top) * zoom) / (this.height - TOP - BOTTOM);
    return [from(u, this.x), from(v, this.y)];
  }

  axes() {
    const [LEFT, RIGHT, TOP, BOTTOM] = this.edge;
    const low = this.height - BOTTOM, right = this.width - RIGHT;
    this.back.replaceChildren();
    if (this.bare) {
      element("path", { class: "axis", d: `M${LEFT},${TOP}V${low}H${right}V${TOP}Z` }, this.back);
      return;
    }
    for (const tick of ticks(this.x, Math.max(3, this.width / 90))) {
      const at = this.px(tick);
      element("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: low }, this.back);
      text(this.back, at, low + 15, tickLabel(tick, this.x), "middle");
    }
    for (const tick of ticks(this.y, Math.max(3, this.height / 55))) {
      const at = this.py(tick);
      element("line", { class: "grid", x1: LEFT, x2: right, y1: at, y2: at }, this.back);
      text(this.back, LEFT - 6, at + 4, tickLabel(tick, this.y), "end");
    }
    element("path", { class: "axis", d: `M${LEFT},${TOP}V${low}H${right}` }, this.back);
    text(this.back, (LEFT + right) / 2, this.height - 5, this.x.label, "middle");
    const turned = text(this.back, 0, 0, this.y.label, "middle");
    turned.setAttribute("transform", `translate(${LEFT - 41},${(TOP + low) / 2}) rotate(-90)`);
  }

  put(id, make, draw) {
    // an item: made once, drawn whenever it or the axes change
    let item = this.items.get(id);
    if (!item) {
      item = { node: make() };
      this.items.set(id, item);
    }
    item.draw = () => draw(item.node, item);
    item.draw();
    return item.node;
  }

  remove(id) {
    this.items.get(id)?.node.remove();
    this.items.delete(id);
  }

  removeWhere(test) {
    for (const id of [...this.items.keys()]) if (test(id)) this.remove(id);
  }

  curve(id, xs, ys, { colour = "blue", dash = "", width = 2, opacity = 1, steps = false } = {}) {
    this.put(id, () => element("path", { class: "curve", "clip-path": `url(#${this.clip})` }, this.front), (node) => {
      node.setAttribute("d", this.path(xs, ys, steps));
      node.style.stroke = `var(--${colour})`;
      node.style.strokeDasharray = dash;
      node.style.strokeWidth = width;
      node.style.opacity = opacity;
    });
  }

  path(xs, ys, steps) {
    let line = "", drawing = false, before = 0;
    for (let k = 0; k < xs.length; k++) {
      const known = ys[k] !== null && xs[k] !== null && (!this.y.log || ys[k] > 0) && (!this.x.log || xs[k] > 0);
      if (!known) { drawing = false; continue; }
      const x = this.px(xs[k]), y = clamp(this.py(ys[k]), -1e4, 1e4);
      line += drawing ? (steps ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `L${x.toFixed(1)},${y.toFixed(1)}`)
        : `M${x.toFixed(1)},${y.toFixed(1)}`;
      drawing = true;
      before = y;
    }
    return line || `M0,${before}`;
  }

  vertical(id, x, { colour = "ink", label = "" } = {}) {
    this.put(id, () => element("line", { class: "now" }, this.front), (node) => {
      const [LEFT, RIGHT, TOP, BOTTOM] = this.edge;
      const at = this.px(x), shown = at >= LEFT - 1 && at <= this.width - RIGHT + 1;
      for (const [key, value] of Object.entries({ x1: at, x2: at, y1: TOP, y2: this.height - BOTTOM }))
        node.setAttribute(key, value);
      node.style.stroke = `var(--${colour})`;
      node.style.display = shown ? "" : "none";
      if (label) node.setAttribute("aria-label", label);
    });
  }

  marks(id, points, { colour = "blue", radius = 4, ring = false, opacity = 1, shape = "dot" } = {}) {
    // points: [[x, y, {colour?, radius?, ring?}?]]
    this.put(id, () => element("g", { "clip-path": `url(#${this.clip})` }, this.front), (node) => {
      while (node.childNodes.length > points.length) node.lastChild.remove();
      points.forEach(([x, y, own = {}], k) => {
        let mark = node.childNodes[k];
        if (!mark) mark = element("circle", {}, node);
        const c = `var(--${own.colour ?? colour})`, hollow = own.ring ?? ring;
        mark.setAttribute("cx", this.px(x).toFixed(1));
        mark.setAttribute("cy", clamp(this.py(y), -1e4, 1e4).toFixed(1));
        mark.setAttribute("r", own.radius ?? radius);
        mark.style.fill = hollow ? "none" : c;
        mark.style.stroke = hollow ? c : "none";
        mark.style.strokeWidth = 2;
        mark.style.opacity = own.opacity ?? opacity;
      });
    });
  }

  stems(id, xs, ys, { colour = "blue", width = 3, opacity = 1, shift = 0 } = {}) {
    this.put(id, () => element("path", { class: "curve", "clip-path": `url(#${this.clip})` }, this.front), (node) => {
      const zero = this.py(0);
      node.setAttribute("d", xs.map((x, k) => ys[k] === null ? "" :
        `M${(this.px(x) + shift).toFixed(1)},${zero.toFixed(1)}V${this.py(ys[k]).toFixed(1)}`).join("") || "M0,0");
      node.style.stroke = `var(--${colour})`;
      node.style.strokeWidth = width;
      node.style.opacity = opacity;
    });
  }

  raster(id, columns, rows, colourOf, [x0, x1], [y0, y1], opacity = 0.35) {
    // a picture of cells, colourOf(column, row) -> [r, g, b, a] with 0 to 255, row 0 lowest
    const canvas = document.createElement("canvas");
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < columns; i++) image.data.set(colourOf(i, j), 4 * ((rows - 1 - j) * columns + i));
    context.putImageData(image, 0, 0);
    const address = canvas.toDataURL();
    this.put(id, () => {
      const node = element("image", { preserveAspectRatio: "none", "clip-path": `url(#${this.clip})` });
      this.front.prepend(node);
      return node;
    }, (node) => {
      node.setAttribute("href", address);
      node.setAttribute("x", this.px(x0));
      node.setAttribute("y", this.py(y1));
      node.setAttribute("width", Math.max(this.px(x1) - this.px(x0), 0));
      node.setAttribute("height", Math.max(this.py(y0) - this.py(y1), 0));
      node.style.opacity = opacity;
    });
  }

  handles(id, points, options) {
    // Points that move. options: moved(k, [x, y], final), removed?(k), name(k) for readers of screens,
    // colour or colour(k), radius, hollow (what lies below is seen through it), step: [dx, dy] of a key press, fixed: "x" or "y" for a coordinate that stays.
    this.put(id, () => element("g", {}, this.top), (node, item) => {
      item.options = options;
      item.points = points;
      while (node.childNodes.length > points.length) node.lastChild.remove();
      points.forEach((point, k) => {
        let dot = node.childNodes[k];
        if (!dot) {
          dot = element("circle", { class: "handle", tabindex: "0", role: "button" }, node);
          this.listen(dot, k, item);
        }
        const colour = typeof options.colour === "function" ? options.colour(k) : options.colour ?? "ink";
        dot.setAttribute("cx", this.px(point[0]).toFixed(1));
        dot.setAttribute("cy", this.py(point[1]).toFixed(1));
        dot.setAttribute("r", options.radius ?? 9);
        dot.setAttribute("aria-label", options.name(k));
        dot.classList.toggle("hollow", Boolean(options.hollow));
        dot.style.fill = `var(--${colour})`;
      });
    });
  }

  listen(dot, k, item) {
    const move = (to, final) => {
      const { fixed } = item.options, old = item.points[k];
      const placed = [
        fixed === "x" ? old[0] : clamp(to[0], ...this.x.range),
        fixed === "y" ? old[1] : clamp(to[1], ...this.y.range),
      ];
      item.options.moved(k, placed.map((value) => Number(value.toPrecision(4))), final);
    };
    dot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      dot.focus();
      dot.setPointerCapture(event.pointerId);
      dot.classList.add("held");
    });
    dot.addEventListener("pointermove", (event) => dot.classList.contains("held") && move(this.at(event), false));
    const release = (event) => {
      if (!dot.classList.contains("held")) return;
      dot.classList.remove("held");
      move(this.at(event), true);
    };
    dot.addEventListener("pointerup", release);
    dot.addEventListener("pointercancel", () => dot.classList.remove("held"));
    dot.addEventListener("keydown", (event) => {
      const [dx, dy] = item.options.step ?? [0.1, 0.1], far = event.shiftKey ? 10 : 1;
      const by = { ArrowLeft: [-dx, 0], ArrowRight: [dx, 0], ArrowUp: [0, dy], ArrowDown: [0, -dy] }[event.key];
      if (by) {
        event.preventDefault();
        move([item.points[k][0] + far * by[0], item.points[k][1] + far * by[1]], true);
      } else if ((event.key === "Delete" || event.key === "Backspace") && item.options.removed) {
        event.preventDefault();
        item.options.removed(k);
      }
    });
    dot.addEventListener("dblclick", (event) => {
      event.stopPropagation();
      item.options.removed?.(k);
    });
  }

  onClick(clicked) {
    // a click or a tap on empty ground
    this.svg.addEventListener("click", (event) => {
      if (event.target.closest?.(".handle")) return;
      const [x, y] = this.at(event), [left, right] = this.x.range, [low, high] = this.y.range;
      if (x >= left && x <= right && y >= low && y <= high) clicked([x, y].map((value) => Number(value.toPrecision(3))));
    });
  }

  onEmpty(added) {
    // a double click on empty ground
    this.svg.addEventListener("dblclick", (event) => added(this.at(event).map((value) => Number(value.toPrecision(4)))));
  }
}

export function contour(ticks, values, level = 0) {
  // where a function on a square grid, values[row][column], has this value: [xs, ys], pieces parted by null
  const xs = [], ys = [], n = ticks.length;
  const meet = (a, b) => (level - a) / (b - a);
  for (let j = 0; j + 1 < n; j++)
    for (let i = 0; i + 1 < n; i++) {
      const [a, b, c, d] = [values[j][i], values[j][i + 1], values[j + 1][i + 1], values[j + 1][i]];
      const [x, y, w, h] = [ticks[i], ticks[j], ticks[i + 1] - ticks[i], ticks[j + 1] - ticks[j]];
      const ends = [];
      if ((a < level) !== (b < level)) ends.push([x + w * meet(a, b), y]);
      if ((b < level) !== (c < level)) ends.push([x + w, y + h * meet(b, c)]);
      if ((d < level) !== (c < level)) ends.push([x + w * meet(d, c), y + h]);
      if ((a < level) !== (d < level)) ends.push([x, y + h * meet(a, d)]);
      for (let k = 0; k + 1 < ends.length; k += 2) {
        xs.push(ends[k][0], ends[k + 1][0], null);
        ys.push(ends[k][1], ends[k + 1][1], null);
      }
    }
  return [xs, ys];
}

function share(value, axis) {
  const [low, high] = axis.range;
  return axis.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);
}

function from(part, axis) {
  const [low, high] = axis.range;
  return axis.log ? low * (high / low) ** part : low + part * (high - low);
}

export function clamp(value, low, high) { return Math.min(Math.max(value, low), high); }

export function rangeOf(arrays, { pad = 0.06, zero = false } = {}) {
  let low = zero ? 0 : Infinity, high = zero ? 0 : -Infinity;
  for (const array of arrays)
    for (const value of array) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  if (!(low <= high)) return [0, 1];
  const gap = (high - low || Math.abs(high) || 1) * pad;
  return [low - gap, high + gap];
}

export function logRange(arrays, decades = 12) {
  // from the least positive value, at most so many decades below the largest
  let low = Infinity, high = 0;
  for (const array of arrays)
    for (const value of array) if (value > 0) { low = Math.min(low, value); high = Math.max(high, value); }
  if (!(high > 0)) return [1e-3, 1];
  return [Math.max(low, high * 10 ** -decades) / 1.5, high * 1.5];
}

function ticks(axis, count) {
  const [low, high] = axis.range;
  if (axis.ticks) return axis.ticks.filter((each) => each >= low && each <= high);
  if (axis.log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / count));
    const found = [];
    for (let e = first; e <= last; e += every) found.push(10 ** e);
    if (found.length > 1) return found;
    return [1, 2, 5, 10, 20, 50].map((each) => Number((each * 10 ** Math.floor(Math.log10(low))).toPrecision(3))).filter((each) => each >= low && each <= high);
  }
  const raw = (high - low) / count, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((each) => each * size >= raw) * size;
  if (!Number.isFinite(step) || step <= 0) return [];
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 50; k++)
    found.push(Number((k * step).toPrecision(12)));
  return found;
}

function tickLabel(value, axis) {
  if (axis.format) return axis.format(value);
  const power = Math.log10(value);
  return axis.log && Math.abs(power - Math.round(power)) < 1e-6 ? `1e${Math.round(power)}` : nice(value);
}

function text(parent, x, y, words, anchor) {
  const node = element("text", { x, y, "text-anchor": anchor }, parent);
  node.textContent = words;
  return node;
}
