// Users and groups that it was not given.
require("./attacking.js");
if (process.getuid() === 0 || process.geteuid() === 0) console.log("ESCAPED it is root");
forbidden("uid", () => process.setuid(0));
forbidden("gid", () => process.setgid(0));
forbidden("groups", () => process.setgroups([0]));
forbidden("priority", () => require("node:os").setPriority(-20));
