// Streams, one into the other, and lines of a file.
const fs = require("node:fs");
const { pipeline } = require("node:stream/promises");
const zlib = require("node:zlib");
const readline = require("node:readline");
(async () => {
  fs.writeFileSync("in.txt", "one\ntwo\nthree\n");
  await pipeline(fs.createReadStream("in.txt"), zlib.createGzip(), fs.createWriteStream("out.gz"));
  await pipeline(fs.createReadStream("out.gz"), zlib.createGunzip(), fs.createWriteStream("back.txt"));
  let lines = 0;
  for await (const line of readline.createInterface({ input: fs.createReadStream("back.txt") })) lines += line.length;
  console.log(lines);
})();
// > 11
// file out.gz
