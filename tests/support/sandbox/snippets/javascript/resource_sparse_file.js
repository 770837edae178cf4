// A file that says it has a terabyte, and an archive that is large inside.
// files
require("./taking.js");
try {
  fs.truncateSync("huge.bin", 2 ** 40);
} catch {}
try {
  fs.writeFileSync("huge.bin", "", { flag: "a" }), fs.truncateSync("huge.bin", 2 ** 40);
} catch {}
const packed = require("node:zlib").gzipSync(Buffer.alloc(16 << 20));
for (let number = 16; number < 4096; number += 16)
  fs.appendFileSync("unpacked.bin", require("node:zlib").gunzipSync(packed)), held(number);
