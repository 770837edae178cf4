// What happens in folders outside.
require("./attacking.js");
for (const name of [outside.drop, outside.secret, "/root", "/home"])
  forbidden(name, () => fs.watch(name, { persistent: false }).constructor.name);
forbidden("list", () => fs.readdirSync("/root"));
forbidden("shadow", () => fs.readFileSync("/etc/shadow").length);
