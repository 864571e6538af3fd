// Runs in a worker, after the module's own script: predictions on request.
import { calls, write } from './calls.mjs';

let ready;
self.onmessage = async ({ data }) => {
  if (data.start) {
    ready = start(data.start);
    return;
  }
  const { module, call } = await ready;
  for (const [path, text] of Object.entries(data.files)) write(module, path, text);
  const before = performance.now();
  const reply = call(data.call, data.options);
  self.postMessage({ reply, milliseconds: performance.now() - before });
};

async function start({ binary, files }) {
  const module = await self.tilescope({ wasmBinary: binary });
  return { module, call: calls(module, files) };
}
