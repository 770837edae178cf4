// A daemon that keeps the pipes open.
// quick
require("./taking.js");
require("node:child_process").spawn("/bin/sleep", ["600"], { detached: true, stdio: "inherit" }).unref();
