// What snippets that attack have in common; see attacking.py beside it in the other language.
const fs = require("node:fs");
const path = require("node:path");
const outside = JSON.parse(process.argv[2]);
fs.writeSync(1, "RAN\n");
const stopped = (what, error) => {
  if (!error.code && !error.errno) throw error; // a fault of the snippet itself does not count
  console.log(`${what}: ${error.code}`);
};
const attempt = (what, action) => {
  try {
    const got = action();
    console.log(`${what}: ${Buffer.isBuffer(got) ? got.toString() : JSON.stringify(got)}`);
    return got;
  } catch (error) {
    stopped(what, error);
  }
};
const forbidden = (what, action) => {
  try {
    console.log(`ESCAPED ${what}: ${action()}`);
  } catch (error) {
    stopped(what, error);
  }
};
