// Promises that never let anything else come to its turn.
require("./taking.js");
const again = () => Promise.resolve().then(again);
again();
