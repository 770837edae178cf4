/** Work that goes on: the part that shows how far it is asks for itself again until it has ended. */

import { localise } from "./times.js";

async function again() {
  const part = document.querySelector("[data-poll]");
  if (!part) return;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.ok && !answer.redirected) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
      if (fresh) {
        const node = document.adoptNode(fresh);
        localise(node);
        part.replaceWith(node);
      }
    }
  } catch {
    // the server is gone: the stream says so
  }
  setTimeout(again, 1000);
}

setTimeout(again, 1000);
