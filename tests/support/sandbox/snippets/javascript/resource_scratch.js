// The scratch folder, filled.
// files
require("./taking.js");
for (let number = 1; number < 4096; number++) fs.writeFileSync(`file${number}`, MEGABYTE), held(number);
