// Busy for ever, and deaf.
// limits seconds
require("./taking.js");
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU", "SIGUSR2"]) process.on(signal, () => {});
for (;;);
