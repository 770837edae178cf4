// Files in the scratch folder.
const fs = require("node:fs");
fs.mkdirSync("data");
fs.writeFileSync("data/a.txt", "alpha\n");
fs.copyFileSync("data/a.txt", "data/b.txt");
fs.renameSync("data/b.txt", "data/c.txt");
fs.appendFileSync("data/c.txt", "beta\n");
fs.symlinkSync("a.txt", "data/link");
console.log(fs.readFileSync("data/link", "utf8").trim(), fs.readdirSync("data"), fs.statSync("data/c.txt").size);
fs.rmSync("data/link");
fs.promises.readFile("data/c.txt", "utf8").then((text) => console.log(text.split("\n")));
// > alpha [ 'a.txt', 'c.txt', 'link' ] 11
// > [ 'alpha', 'beta', '' ]
// file data/c.txt
