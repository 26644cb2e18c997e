// The search runs in a worker, which browsers refuse to pages that are opened as files. Then an
// empty frame takes its place: it runs the worker's script and passes its messages on.
(() => {
  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const inside = frame.contentWindow;
      this.frame = frame;
      this.isReady = new Promise((resolve) => {
        inside.document.open();
        inside.document.write("<!doctype html><html lang=en><title>Search</title><body></body></html>");
        inside.document.close();
        inside.postMessage = (data) => this.answer(data);
        inside.importScripts = (...scripts) =>
          scripts.reduce((before, script) => before.then(() => this.load(script)), Promise.resolve());
        this.load(url).then(resolve);
      });
    }

    load(url) {
      const inside = this.frame.contentDocument;
      return new Promise((resolve, reject) => {
        const script = inside.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${url} cannot be loaded`));
        inside.body.append(script);
      });
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.isReady.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
})();
