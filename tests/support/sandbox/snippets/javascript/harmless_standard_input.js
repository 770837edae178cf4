// Standard input is there and empty.
process.stdin.on("data", () => console.log("something")).on("end", () => console.log("end of input"));
console.log(require("node:fs").existsSync(process.cwd()), process.env.HOME === process.cwd());
// > true true
// > end of input
