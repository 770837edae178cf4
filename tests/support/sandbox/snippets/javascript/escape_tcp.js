// TCP out, and a door in.
require("./attacking.js");
const net = require("node:net");
for (const host of ["127.0.0.1", "::1", "0.0.0.0"]) {
  const talk = net.connect(outside.tcp, host);
  talk.on("data", (data) => console.log(data.toString())).on("error", (error) => console.log(host, error.code));
}
const server = net.createServer().on("error", (error) => console.log("listen", error.code));
server.listen(0, "127.0.0.1", () => (console.log("ESCAPED it listens"), server.close()));
fetch(`http://127.0.0.1:${outside.tcp}/`).then(
  async (answer) => console.log(await answer.text()),
  (error) => console.log("fetch", error.cause?.code),
);
