// A debugger's door: its own, and that of another process.
require("./attacking.js");
const inspector = require("node:inspector");
attempt("open", () => inspector.open(0, "127.0.0.1", false));
if (inspector.url()) console.log("ESCAPED", inspector.url());
forbidden("another's", () => process._debugProcess(outside.pid));
process.exit(0);
