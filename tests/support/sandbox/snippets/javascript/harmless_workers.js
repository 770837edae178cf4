// A thread, with memory in common.
const { Worker } = require("node:worker_threads");
const shared = new SharedArrayBuffer(4);
const source = `const { workerData, parentPort } = require("node:worker_threads");
  Atomics.add(new Int32Array(workerData), 0, 41); parentPort.postMessage("done")`;
new Worker(source, { eval: true, workerData: shared }).on("message", (text) => {
  console.log(text, Atomics.add(new Int32Array(shared), 0, 1) + 1);
});
// > done 42
