// A worker with the predictor in it. Of questions with one name only the newest waits; older ones are dropped unasked.
export class Engine {
  constructor(source, parts) {
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
    this.worker.postMessage({ start: parts });
    this.waiting = new Map(); // name -> question
    this.asked = null;
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = (event) => this.take({ reply: JSON.stringify({ error: `the predictor stopped: ${event.message}` }), milliseconds: 0 });
  }

  // Resolves with {answer} or {error}, and {milliseconds}; with null where a newer question of that name came.
  ask(name, call, options, files = {}) {
    return new Promise((resolve) => {
      this.waiting.get(name)?.resolve(null);
      this.waiting.delete(name);
      this.waiting.set(name, { call, options, files, resolve });
      this.next();
    });
  }

  next() {
    if (this.asked || this.waiting.size === 0) return;
    const [name, question] = this.waiting.entries().next().value;
    this.waiting.delete(name);
    this.asked = question;
    const { call, options, files } = question;
    this.worker.postMessage({ call, options, files });
  }

  take({ reply, milliseconds }) {
    const { resolve } = this.asked ?? {};
    this.asked = null;
    this.next();
    resolve?.({ ...JSON.parse(reply), text: reply, milliseconds });
  }
}
