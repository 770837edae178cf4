// Waits for ever.
// limits seconds
require("./taking.js");
setInterval(() => {}, 1000);
