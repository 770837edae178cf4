// The environment, and what the process tells about its parents.
require("./attacking.js");
console.log(process.env, process.execArgv, process.title);
attempt("report", () => process.report.getReport());
attempt("user", () => require("node:os").userInfo());
attempt("network", () => require("node:os").networkInterfaces());
