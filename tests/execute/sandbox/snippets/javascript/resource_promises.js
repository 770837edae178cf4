// Promises that never let anything else come to its turn.
// limits seconds
require("./taking.js");
const again = () => Promise.resolve().then(again);
again();
