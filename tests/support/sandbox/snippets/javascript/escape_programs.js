// Other programs, to do what it may not.
require("./attacking.js");
const { spawnSync } = require("node:child_process");
const shown = (...command) => () => spawnSync(command[0], command.slice(1), { encoding: "utf8" }).stdout;
attempt("cat", shown("/bin/cat", outside.secret));
attempt("shell", shown("/bin/sh", "-c", `cat '${outside.secret}' /proc/*/environ; ls -la /root /home; mount; id`));
attempt("node", shown(process.execPath, "-p", `require("fs").readFileSync(${JSON.stringify(outside.secret)}, "utf8")`));
attempt("python", shown("/usr/bin/python3", "-c", `print(open(${JSON.stringify(outside.secret)}).read())`));
attempt("outside", shown(outside.program));
attempt("unshare", shown("/usr/bin/unshare", "-r", "/bin/cat", outside.secret));
