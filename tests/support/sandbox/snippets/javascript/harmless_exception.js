// An exception that nobody catches.
console.log("before");
const inner = () => null.missing;
inner();
// > before
// exit 1
// stderr TypeError: Cannot read properties of null
// stderr at inner
