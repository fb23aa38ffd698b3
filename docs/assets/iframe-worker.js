/* Search when the pages are opened from a folder, where browsers allow no worker: the worker's script
   runs in a hidden frame instead, and messages go to and fro as events. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.inner.importScripts = () => Promise.resolve();
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.deliver(data));
      };
      frame.contentDocument.body.append(script);
    }
    postMessage(data) {
      if (this.ready) this.deliver(data);
      else this.waiting.push(data);
    }
    deliver(data) {
      this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
    }
    terminate() {}
  };
}
