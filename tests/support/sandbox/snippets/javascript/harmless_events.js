// Events, structured copies, text in and out of bytes, addresses.
const { EventEmitter, once } = require("node:events");
const talker = new EventEmitter();
setTimeout(() => talker.emit("said", "hello"), 1);
once(talker, "said").then(([text]) => console.log(text));
console.log(structuredClone({ a: [1, new Map([[1, 2]])] }), new URL("https://example.com/a?b=1").searchParams.get("b"));
console.log(new TextDecoder().decode(new TextEncoder().encode("世界")), require("node:util").format("%s %d", "x", 1));
// > { a: [ 1, Map(1) { 1 => 2 } ] } 1
// > 世界 x 1
// > hello
