// Other programs, among them node itself.
const { execFileSync, spawn } = require("node:child_process");
console.log(execFileSync("/bin/echo", ["hello"]).toString().trim());
console.log(execFileSync(process.execPath, ["-p", "6 * 7"]).toString().trim());
const sort = spawn("sort");
sort.stdout.on("data", (data) => console.log(data.toString().split("\n")));
sort.stdin.end("b\na\n");
sort.on("close", (code) => console.log("sorted", code));
// > hello
// > 42
// > [ 'a', 'b', '' ]
// > sorted 0
