// One WebSocket for the page. It comes back by itself, and only answers to the newest question count.

const FIRST_WAIT = 400, LONGEST_WAIT = 5000; // milliseconds between two tries

export class Connection {
  constructor(heard) {
    this.heard = heard; // {hello, part, end, warming, code, file, lost}
    this.id = 0;
    this.newest = -1;
    this.wait = FIRST_WAIT;
    this.open = false;
    this.connect();
    window.addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
  }

  connect() {
    this.timer = null;
    this.socket = new WebSocket(`ws://${location.host}/page`);
    this.socket.onmessage = (event) => this.hear(JSON.parse(event.data));
    this.socket.onclose = (event) => {
      const was = this.open;
      this.open = false;
      this.heard.lost(event.reason, was);
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
  }

  hurry() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.connect();
  }

  hear(message) {
    if (message.kind === "hello") {
      this.open = true;
      this.wait = FIRST_WAIT;
      this.heard.hello(message.scenes);
    } else if (message.kind === "part" || message.kind === "warming") {
      if (message.id === this.newest) this.heard[message.kind](message);
    } else if (message.kind === "end") {
      if (message.id === this.newest || message.error) this.heard.end(message, message.id === this.newest);
    } else this.heard[message.kind](message);
  }

  say(kind, scene, state) {
    if (!this.open) return null;
    const id = this.id++;
    if (kind === "ask") this.newest = id;
    this.socket.send(JSON.stringify({ kind, id, scene, state }));
    return id;
  }
}
