// Memory over many processes.
// memory
require("./taking.js");
const { spawn } = require("node:child_process");
let total = 0;
for (let number = 0; number < 8; number++)
  spawn("/bin/sh", ["-c", 'x=$(head -c 30000000 /dev/zero | tr "\\0" x); echo 30; sleep 60']).on("error", () => {})
    .stdout?.on("data", () => held((total += 30)));
setInterval(() => {}, 1000);
