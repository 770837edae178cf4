// Much memory, and less than it may have.
const block = Buffer.alloc(200 << 20, 1);
let sum = 0;
for (let at = 0; at < block.length; at += 4096) sum += block[at];
console.log(sum);
// > 51200
// large
