// A pattern that takes longer than the universe.
// limits seconds
require("./taking.js");
/^(a+)+$/.test(`${"a".repeat(64)}b`);
