// Promises, timers and what comes first.
setTimeout(() => console.log("timer"), 50);
setImmediate(() => console.log("immediate"));
Promise.resolve().then(() => console.log("promise"));
process.nextTick(() => console.log("tick"));
(async () => {
  const all = await Promise.allSettled([1, Promise.reject(new Error("no"))]);
  console.log(all.map((one) => one.status).join(" "));
})();
console.log("first");
// > first
// > tick
// > promise
// > fulfilled rejected
// > immediate
// > timer
