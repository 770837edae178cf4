// Sockets of this machine.
require("./attacking.js");
const net = require("node:net");
for (const name of [outside.unix, `\0${outside.abstract}`]) {
  const talk = net.connect({ path: name });
  talk.on("data", (data) => (console.log(data.toString()), talk.destroy()));
  talk.on("error", (error) => console.log(error.code));
}
const server = net.createServer().on("error", (error) => console.log("listen", error.code));
server.listen(`\0${outside.tag}`, () => (console.log("ESCAPED it listens"), server.close()));
