// Results that hurt whoever collects them.
require("./attacking.js");
fs.mkdirSync("d/".repeat(200), { recursive: true });
for (const name of ["line\nbreak", "\u001b[2J", "-rf", "x".repeat(255), "\u202egnp.exe", "a\\..\\b"])
  attempt(JSON.stringify(name), () => fs.writeFileSync(name, "harmless"));
attempt("bytes", () => fs.writeFileSync(Buffer.from([0xff, 0xfe]), "harmless"));
attempt("fifo", () => require("node:child_process").spawnSync("mkfifo", ["result.txt"]).status);
fs.writeFileSync("setuid", "#!/bin/sh\nid\n");
attempt("setuid", () => fs.chmodSync("setuid", 0o6755));
fs.symlinkSync("loop", "loop");
