// WebAssembly: a function that adds.
const bytes = Buffer.from("0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b", "hex");
WebAssembly.instantiate(bytes).then(({ instance }) => console.log(instance.exports.add(40, 2)));
// > 42
