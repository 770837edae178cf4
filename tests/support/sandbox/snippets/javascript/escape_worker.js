// The same from a thread, which is held by the same rules.
require("./attacking.js");
const { Worker } = require("node:worker_threads");
const source = `
  const fs = require("node:fs"), { parentPort, workerData: outside } = require("node:worker_threads");
  for (const name of [outside.secret, "/proc/self/root" + outside.secret, "/proc/1/environ"])
    try { parentPort.postMessage(fs.readFileSync(name, "utf8")); } catch (error) { parentPort.postMessage(error.code); }
  require("node:net").connect(outside.tcp, "127.0.0.1").on("data", (data) => parentPort.postMessage(data.toString()))
    .on("error", (error) => parentPort.postMessage(error.code));`;
new Worker(source, { eval: true, workerData: outside }).on("message", (text) => console.log(text));
