// Runs in a worker, after the module's own script: predictions on request.
import { calls, write } from './calls.mjs';

let ready;
self.onmessage = async ({ data }) => {
  if (data.start) {
    ready = start(data.start);
    return;
  }
  const before = performance.now();
  try {
    const { module, call } = await ready;
    for (const [path, text] of Object.entries(data.files)) write(module, path, text);
    const reply = call(data.call, data.options);
    self.postMessage({ reply, milliseconds: performance.now() - before });
  } catch (error) { // the module stopped: out of memory, or no WebAssembly here
    self.postMessage({ reply: JSON.stringify({ error: `the predictor stopped (${error.message ?? error}); reload the page` }), milliseconds: 0 });
  }
};

async function start({ binary, files }) {
  const module = await self.tilescope({ wasmBinary: binary });
  return { module, call: calls(module, files) };
}
