// A module of its own, by `require`.
const fs = require("node:fs");
fs.writeFileSync("own.js", "module.exports = { answer: 42, name: require('node:path').basename(__filename) }");
console.log(require(`${process.cwd()}/own.js`), require.main === module, process.argv.length);
// > { answer: 42, name: 'own.js' } true 3
