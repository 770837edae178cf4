// Memory on the heap.
// memory
require("./taking.js");
const kept = [];
for (let number = 1; ; number++) kept.push(new Array(131072).fill(number + 0.5)), held(number);
