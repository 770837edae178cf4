/**
 * One event stream for all tabs of this browser: whichever tab holds the lock listens and tells the others.
 * A hidden tab lets go of it, so that nothing is open while nobody looks; `stays` says whether it keeps it, because
 * somebody wants to be told on the desktop.
 *
 * tell("state", {head, waiting, paused})   something was recorded, or waits
 * tell("link", "live" | "gone" | "over")   whether the server is there; over: this session has ended
 */

const CHANNEL = "rightcall";

export function follow(tell, stays = () => false) {
  const channel = "BroadcastChannel" in self ? new BroadcastChannel(CHANNEL) : null;
  const last = new Map();  // of the tab that listens: what a new one wants to know
  const pass = (kind, value) => {
    last.set(kind, value);
    tell(kind, value);
    channel?.postMessage([kind, value]);
  };
  if (channel) {
    channel.onmessage = ({ data: [kind, value] }) => {
      if (kind !== "hello") return tell(kind, value);
      for (const known of last) channel.postMessage(known);
    };
    channel.postMessage(["hello"]);
  }

  const away = () => document.hidden && !stays();
  let release = null;
  const listen = () => new Promise((done) => {
    const stream = new EventSource("/events");
    stream.addEventListener("state", (event) => {
      pass("link", "live");
      pass("state", JSON.parse(event.data));
    });
    stream.addEventListener("over", () => {
      stream.close();
      pass("link", "over");
    });
    stream.onerror = async () => {
      if (stream.readyState === EventSource.CLOSED) {  // it was answered with something else
        if (await loggedOut()) return pass("link", "over");
        setTimeout(again, 2000);
      }
      pass("link", "gone");
    };
    const again = () => {
      stop();
      start();
    };
    const stop = release = () => {
      stream.close();
      last.clear();
      release = null;
      done();
    };
  });

  const start = () => {
    if (release || away()) return;
    if (!navigator.locks) {  // plain HTTP on another machine: each tab has its own
      listen();
      return;
    }
    const giveUp = new AbortController();
    release = () => {
      giveUp.abort();
      release = null;
    };
    navigator.locks.request(CHANNEL, { signal: giveUp.signal }, () => (away() ? null : listen())).catch(() => {});
  };

  document.addEventListener("visibilitychange", () => (away() ? release?.() : start()));
  addEventListener("pagehide", () => release?.());
  addEventListener("pageshow", start);
  start();
}

async function loggedOut() {
  try {
    return (await fetch("/inbox", { method: "HEAD", headers: { accept: "text/plain" } })).status === 401;
  } catch {
    return false;
  }
}
