// The secret by its path, by /proc, from its folder, and as a module.
require("./attacking.js");
const secret = outside.secret;
attempt("path", () => fs.readFileSync(secret));
attempt("up", () => fs.readFileSync("../".repeat(24) + secret));
attempt("listing", () => fs.readdirSync(path.dirname(secret)));
attempt("descriptor", () => fs.readFileSync(fs.openSync(secret)));
for (const pid of ["self", "1", process.ppid, outside.pid, outside.holder]) {
  attempt(`root of ${pid}`, () => fs.readFileSync(`/proc/${pid}/root${secret}`));
  attempt(`folder of ${pid}`, () => fs.readFileSync(`/proc/${pid}/cwd${"/..".repeat(24)}${secret}`));
  attempt(`environment of ${pid}`, () => fs.readFileSync(`/proc/${pid}/environ`));
  attempt(`arguments of ${pid}`, () => fs.readFileSync(`/proc/${pid}/cmdline`));
  if (pid !== "self") forbidden(`memory of ${pid}`, () => fs.openSync(`/proc/${pid}/mem`, "r+"));
}
attempt("module", () => require(outside.module));
attempt("copy", () => fs.copyFileSync(secret, "copy.txt"));
attempt("copied", () => fs.cpSync(path.dirname(secret), "copied", { recursive: true }));
