// Processes, each in a session of its own.
require("./taking.js");
const { spawn } = require("node:child_process");
let started = 0;
for (let number = 0; number < 300; number++)
  spawn("/bin/sleep", ["60"], { detached: true, stdio: "ignore" })
    .on("error", () => {})
    .on("spawn", () => count(++started))
    .unref();
setInterval(() => {}, 1000);
