// A module, with `await` at its top and another one beside it.
import fs from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
fs.writeFileSync("other.mjs", "export default 'from the other'; export const two = 2;");
await wait(2);
const { default: text, two } = await import(`${process.cwd()}/other.mjs`);
console.log(text, two, typeof require, import.meta.url.startsWith("file:"));
// > from the other 2 undefined true
