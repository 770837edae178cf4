// Bytes, compressed and hashed.
const crypto = require("node:crypto");
const zlib = require("node:zlib");
console.log(Buffer.from("Grüße").toString("hex"), Buffer.concat([Buffer.from("a"), Buffer.from("b")]).toString("base64"));
console.log(zlib.gunzipSync(zlib.gzipSync("x".repeat(1000))).length, zlib.brotliDecompressSync(zlib.brotliCompressSync("y")).toString());
console.log(crypto.createHash("sha256").update("hello").digest("hex").slice(0, 16), crypto.randomBytes(8).length, crypto.randomUUID().length);
console.log(crypto.createHmac("sha1", "k").update("m").digest("hex").slice(0, 8), crypto.scryptSync("p", "s", 4).toString("hex").length);
// > 4772c3bcc39f65 YWI=
// > 1000 y
// > 2cf24dba5fb0a30e 8 36
// > 772b71c8 8
