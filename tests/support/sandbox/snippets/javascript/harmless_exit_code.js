// Its own exit code.
process.on("exit", (code) => console.log("last words", code));
console.error("to standard error");
process.exitCode = 7;
// > last words 7
// exit 7
// stderr to standard error
