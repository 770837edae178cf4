// Threads by the hundred.
require("./taking.js");
const { Worker } = require("node:worker_threads");
for (let number = 0; number < 200; number++)
  try {
    new Worker("setInterval(() => {}, 1000)", { eval: true }).on("error", () => {});
  } catch {}
setInterval(() => {}, 1000);
