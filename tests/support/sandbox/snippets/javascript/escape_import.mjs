// Modules from outside, by address.
import fs from "node:fs";
import { pathToFileURL } from "node:url";
const outside = JSON.parse(process.argv[2]);
fs.writeSync(1, "RAN\n");
for (const name of [outside.module, `/proc/self/root${outside.module}`])
  try {
    console.log((await import(pathToFileURL(name))).default);
  } catch (error) {
    console.log(error.code);
  }
