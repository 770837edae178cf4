// Memory outside of the heap.
// memory
require("./taking.js");
const kept = [];
for (let number = 1; ; number++) kept.push(Buffer.alloc(1 << 20, number)), held(number);
