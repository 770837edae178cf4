// Descriptors that were left open.
require("./attacking.js");
const room = Buffer.alloc(1000);
for (let fd = 0; fd < 300; fd++)
  attempt(`descriptor ${fd}`, () => room.subarray(0, fs.readSync(fd, room, 0, 1000, 0)));
for (const fd of [outside.fd, outside.folder_fd]) attempt(`below ${fd}`, () => fs.readFileSync(`/proc/self/fd/${fd}/secret.txt`));
