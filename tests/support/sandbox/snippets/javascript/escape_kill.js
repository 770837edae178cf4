// Signals to processes outside, to its parent and to everybody.
require("./attacking.js");
for (const pid of [outside.pid, outside.holder, outside.server])
  for (const signal of ["SIGTERM", "SIGKILL", "SIGUSR1"]) forbidden(`${signal} ${pid}`, () => process.kill(pid, signal));
for (const signal of ["SIGSTOP", "SIGTERM", "SIGKILL"]) if (process.ppid > 0) attempt(signal, () => process.kill(process.ppid, signal));
attempt("priority", () => require("node:os").setPriority(outside.pid, 19));
attempt("everybody", () => process.kill(-1, "SIGKILL"));
