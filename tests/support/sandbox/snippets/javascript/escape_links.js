// Links to the secret, read and left behind.
require("./attacking.js");
fs.symlinkSync(outside.secret, "result.txt");
fs.symlinkSync(path.dirname(outside.secret), "results");
attempt("link", () => fs.readFileSync("result.txt"));
attempt("folder", () => fs.readFileSync(`results/${path.basename(outside.secret)}`));
attempt("hard link", () => fs.linkSync(outside.secret, "hard.txt"));
attempt("moved", () => fs.renameSync(outside.secret, "moved.txt"));
attempt("real path", () => fs.readFileSync(fs.realpathSync("result.txt")));
