/**
 * One event stream for all tabs of this browser: whichever tab holds the lock listens and tells the others.
 * A hidden tab lets go of it, so that nothing is open while nobody looks; `stays` says whether it keeps it, because
 * somebody wants to be told on the desktop. `filter` is that of a page of Live: the stream has the rows of all tabs'.
 *
 * tell("rows", html)                       calls that fit the filter: they are new, or have ended
 * tell("state", {head, waiting, paused})   something was recorded, or waits
 * tell("link", "live" | "gone" | "over")   whether the server is there; over: this session has ended
 */

const CHANNEL = "rightcall";

export function follow(tell, filter, stays = () => false) {
  const channel = navigator.locks && "BroadcastChannel" in self ? new BroadcastChannel(CHANNEL) : null;
  let head = Number(document.body.dataset.head);  // the record up to which this tab has its rows
  const last = new Map();  // of the tab that listens: what a new one wants to know,
  const filters = new Map();  // and the filters of all tabs, each with the record from which on it wants rows
  let open = null;
  let timer = 0;

  const hear = (kind, value) => {
    if (kind === "rows") return value.filter === filter && tell(kind, value.rows);
    if (kind === "state" && value.filters.includes(filter)) head = value.head;
    tell(kind, value);
  };
  const pass = (kind, value) => {
    if (kind !== "rows") last.set(kind, value);
    hear(kind, value);
    channel?.postMessage([kind, value]);
  };
  const hello = () => channel?.postMessage(["hello", filter, head]);
  const reopen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => open?.(), 50);  // several tabs answer at once
  };
  const answer = {
    hello(theirs, from) {
      for (const known of last) channel.postMessage(known);
      if (!open || theirs === undefined || filters.get(theirs) <= from) return;
      filters.set(theirs, from);
      reopen();
    },
    bye(theirs) {
      if (!open || !filters.delete(theirs)) return;
      channel.postMessage(["who"]);  // another tab may have the same
      reopen();
    },
    who: hello,
  };
  if (channel) channel.onmessage = ({ data: [kind, ...said] }) => (answer[kind] ? answer[kind](...said) : hear(kind, ...said));

  const away = () => document.hidden && !stays();
  let release = null;
  const listen = () => new Promise((done) => {
    let stream = null;
    open = () => {
      stream?.close();
      if (filter !== undefined) filters.set(filter, head);
      const asked = [...filters.keys()];
      const query = new URLSearchParams(asked.map((one) => ["live", one]));
      if (asked.length) query.set("after", Math.min(...filters.values()));
      stream = new EventSource(`/events?${query}`);
      stream.addEventListener("rows", (event) => pass("rows", JSON.parse(event.data)));
      stream.addEventListener("state", (event) => {
        const state = { ...JSON.parse(event.data), filters: asked };
        for (const one of asked) if (filters.has(one)) filters.set(one, state.head);
        pass("link", "live");
        pass("state", state);
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
    };
    const again = () => {
      stop();
      start();
    };
    const stop = release = () => {
      stream.close();
      last.clear();
      filters.clear();
      open = release = null;
      done();
    };
    open();
    channel?.postMessage(["who"]);
  });

  const start = () => {
    hello();
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
  addEventListener("pagehide", () => {
    release?.();
    channel?.postMessage(["bye", filter]);
  });
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
