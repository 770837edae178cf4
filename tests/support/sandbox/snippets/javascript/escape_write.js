// Files outside, written, made, removed, and their modes and times changed.
require("./attacking.js");
const { victim, drop } = outside;
forbidden("write", () => fs.writeFileSync(victim, "changed"));
forbidden("append", () => fs.appendFileSync(victim, "changed"));
forbidden("truncate", () => fs.truncateSync(victim));
forbidden("remove", () => fs.unlinkSync(victim));
forbidden("make", () => fs.writeFileSync(`${drop}/made`, ""));
forbidden("folder", () => fs.mkdirSync(`${drop}/folder`));
forbidden("temporary", () => fs.mkdtempSync(`${drop}/t`));
forbidden("link", () => fs.symlinkSync("/", `${drop}/link`));
attempt("mode", () => fs.chmodSync(victim, 0o4777));
attempt("times", () => fs.utimesSync(victim, 1, 1));
attempt("owner", () => fs.chownSync(victim, process.getuid(), process.getgid()));
for (const folder of ["/tmp", "/var/tmp", "/dev/shm"])
  attempt(folder, () => fs.writeFileSync(`${folder}/${outside.tag}`, "left behind"));
for (const folder of ["/", "/usr", "/etc", "/usr/lib/node_modules"])
  forbidden(folder, () => fs.writeFileSync(`${folder}/${outside.tag}`, "changed"));
