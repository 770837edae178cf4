// Deeper than any stack, also in the parser.
require("./taking.js");
const deeper = (number) => deeper(number + 1) + number;
try {
  deeper(0);
} catch {}
try {
  eval("[".repeat(1_000_000));
} catch {}
JSON.parse("[".repeat(1_000_000));
