// What happens in folders outside.
require("./attacking.js");
for (const name of [outside.drop, outside.secret, path.dirname(outside.secret)])
  forbidden(name, () => fs.watch(name, { persistent: false }).constructor.name);
forbidden("list", () => fs.readdirSync("/var/log"));
forbidden("shadow", () => fs.readFileSync("/etc/shadow").length);
