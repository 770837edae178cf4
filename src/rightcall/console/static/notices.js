/**
 * Desktop notices: asked for with a click in the inbox, remembered in this browser, shown only while nobody looks at
 * the page. They say that an approval waits, with its tool and its caller, and nothing of the call.
 */

const KEY = "rightcall-notices";
const told = new Set();

export const areOn = () => "Notification" in self && Notification.permission === "granted" && localStorage.getItem(KEY) === "on";

/** The button of the inbox. Without it, or where the browser has no notices, nothing happens. */
export function offerNotices(button) {
  if (areOn()) look();
  if (!button || !("Notification" in self) || !self.isSecureContext) return;
  const show = () => {
    const denied = Notification.permission === "denied";
    button.hidden = false;
    button.disabled = denied;
    button.setAttribute("aria-pressed", String(areOn()));
    button.textContent = denied ? "This browser blocks notices" : areOn() ? "Desktop notices are on" : "Turn on desktop notices";
  };
  button.addEventListener("click", async () => {
    if (areOn()) localStorage.removeItem(KEY);
    else if ((await Notification.requestPermission()) === "granted") {
      localStorage.setItem(KEY, "on");
      await look();
    }
    show();
  });
  show();
}

/** More waits than before: tell of what is new. */
export async function noticeWaiting() {
  if (!areOn()) return;
  for (const one of await look()) {
    if (!document.hidden) continue;
    const notice = new Notification("An approval waits", { body: `${one.tool} for ${one.caller}`, tag: `rightcall-${one.id}` });
    notice.onclick = () => {
      self.focus();
      location.assign(`/inbox/${encodeURIComponent(one.id)}`);
      notice.close();
    };
  }
}

/** What waits and was not told of yet. */
async function look() {
  try {
    const answer = await fetch("/inbox", { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return [];
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const waiting = [...page.querySelectorAll("#inbox [data-id]")].map(({ dataset }) => ({ ...dataset }));
    const fresh = waiting.filter((one) => !told.has(one.id));
    for (const one of fresh) told.add(one.id);
    return fresh;
  } catch {
    return []; // the server is gone: the stream says so
  }
}
