/** The playground reads while somebody types: the form is sent a moment after the last key, and the answer replaces the
 *  one before it. */

const form = document.querySelector("[data-try]");
const place = document.getElementById("reading");
const status = document.getElementById("typing");
const pasted = form.querySelector(".pasted");
let timer = 0;
let sending = null;

function showPasted() {
  pasted.hidden = form.elements.source.value !== "pasted";
}

async function send() {
  sending?.abort();
  sending = new AbortController();
  status.textContent = "Reading…";
  try {
    const answer = await fetch("/playground/reading", {
      method: "POST",
      headers: { accept: "text/html" },
      body: new URLSearchParams(new FormData(form)),
      signal: sending.signal,
    });
    if (answer.status === 401) return location.reload();
    const open = [...place.querySelectorAll("details")].map((one) => one.open);
    place.innerHTML = await answer.text();  // our own page, escaped there
    place.querySelectorAll("details").forEach((one, at) => (one.open = open[at] ?? false));
    offerCopy();
    status.textContent = "";
  } catch (fault) {
    if (fault.name !== "AbortError") status.textContent = "The server is gone.";
  }
}

function offerCopy() {
  for (const button of place.querySelectorAll("[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.lastChild.textContent = "Copied";
    });
  }
}

form.addEventListener("input", () => {
  showPasted();
  clearTimeout(timer);
  timer = setTimeout(send, 250);
});
form.addEventListener("submit", (event) => {
  if (event.submitter?.formAction.endsWith("/playground/case")) return;
  event.preventDefault();
  clearTimeout(timer);
  send();
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
showPasted();
