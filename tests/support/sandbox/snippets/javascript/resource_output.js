// Output without end.
// limits output
require("./taking.js");
for (;;)
  try {
    fs.writeSync(1, MEGABYTE);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
  }
