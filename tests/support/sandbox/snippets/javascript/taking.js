// What snippets that take too much have in common; see taking.py beside it in the other language.
const fs = require("node:fs");
fs.writeSync(1, "RAN\n");
const MEGABYTE = Buffer.alloc(1 << 20, 1);
const held = (megabytes) => fs.writeSync(1, `HELD ${megabytes}\n`);
const count = (number) => fs.writeSync(1, `COUNT ${number}\n`);
