// A datagram out, and a name asked for.
require("./attacking.js");
const talk = require("node:dgram").createSocket("udp4");
talk.on("error", (error) => console.log("udp", error.code));
attempt("send", () => talk.send("out", outside.udp, "127.0.0.1", () => talk.close()));
require("node:dns").resolve4("rightcall.invalid", (error, found) => console.log(error ? `dns ${error.code}` : `ESCAPED ${found}`));
