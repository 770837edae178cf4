// Promises, timers and what comes first.
setImmediate(() => {
  console.log("immediate");
  setTimeout(() => console.log("timer"), 5);
});
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
