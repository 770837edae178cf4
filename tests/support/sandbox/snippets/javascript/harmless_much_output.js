// A hundred thousand lines, below the limit.
for (let number = 0; number < 100_000; number++) console.log(number);
// lines 100000
