// Memory of WebAssembly, and shared memory.
// memory
require("./taking.js");
const kept = [];
for (let number = 1; ; number++) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 16, shared: true });
  new Uint8Array(memory.buffer).fill(1);
  kept.push(memory), held(number);
}
