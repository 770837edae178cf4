/** What every page does: local times, one event stream, parts that refresh themselves, and keys. */

import { follow } from "./events.js";
import { listenToKeys } from "./keys.js";
import { Live } from "./live.js";
import { areOn, noticeWaiting, offerNotices } from "./notices.js";
import { countDown, localise } from "./times.js";

const list = document.querySelector("[data-live]");
const live = list ? new Live(list) : null;
const link = document.getElementById("link");
const words = { live: "live", gone: "server is gone", over: "logged out" };
let known = { head: Number(document.body.dataset.head), waiting: Number(document.body.dataset.waiting) };

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
localise();
countDown();
setInterval(() => localise(), 30000);
offerNotices(document.getElementById("notices"));
listenToKeys({ pause: () => live?.pause(!live.paused) });

follow((kind, value) => {
  if (kind === "link") return showLink(value);
  if (kind === "rows") return live.take(value);
  const before = known;
  known = value;
  showWaiting(value.waiting);
  if (value.waiting !== before.waiting) refresh("waiting");
  if (value.waiting > before.waiting) noticeWaiting();
  if (value.head !== before.head) refresh("head");
}, list?.dataset.query, areOn);

function showLink(state) {
  if (state === "over") return location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  link.dataset.state = state;
  link.querySelector("span").textContent = words[state];
  document.getElementById("gone").hidden = state !== "gone";
}

function showWaiting(count) {
  for (const one of document.querySelectorAll("[data-waits]")) one.hidden = count === 0;
  for (const one of document.querySelectorAll("[data-count]")) one.textContent = count;
  document.title = (count ? `(${count}) ` : "") + document.title.replace(/^\(\d+\) /, "");
}

/** Asks for this page again and puts the parts that have changed in place; not while somebody is in one of them.
 *  What waits is shown at once, what was recorded every two seconds at most. */
const due = new Set();
let asked = 0;
let next = Infinity;
let timer = 0;
function refresh(what) {
  due.add(what);
  const at = what === "waiting" ? Date.now() + 200 : Math.max(Date.now() + 300, asked + 2000);
  if (at >= next) return;
  next = at;
  clearTimeout(timer);
  timer = setTimeout(replaceParts, at - Date.now());
}

async function replaceParts() {
  asked = Date.now();
  next = Infinity;
  const parts = [...document.querySelectorAll("[data-refresh]")].filter((one) => due.has(one.dataset.refresh));
  due.clear();
  if (!parts.length || document.hidden) return;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      if (!fresh || !mayReplace(part, fresh)) continue;
      const node = document.adoptNode(fresh);
      localise(node);
      if (node.innerHTML === part.innerHTML) continue;
      part.replaceWith(node);
      countDown(node);
    }
  } catch {
    // the server is gone: the stream says so
  }
}

/** A part with a phase changes with it, whole and whoever is in it, so that nothing of the one before stays; within a
 *  phase it stays as it was read. */
function mayReplace(part, fresh) {
  if ("phase" in part.dataset) return part.dataset.phase !== fresh.dataset.phase;
  return !part.contains(document.activeElement) && !part.querySelector("details[open]:not([data-open])");
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.lastChild.textContent = "Copied";
  });
}
addEventListener("submit", ({ target }) => "answer" in target.dataset && setTimeout(() => disable(target)));

/** All that belongs to a form, also the buttons of the bar below it. */
function disable(form) {
  for (const one of form.elements) one.disabled = true;
}
