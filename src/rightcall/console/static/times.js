/** Times in the reader's zone: the server writes UTC, which stays readable without a script. */

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const far = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const since = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

function ago(moment, now) {
  const seconds = Math.round((moment - now) / 1000);
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= length) return since.format(Math.trunc(seconds / length), unit);
  }
  return since.format(seconds, "second");
}

function written(moment, style, now) {
  if (style === "ago") return ago(moment, now);
  if (style === "minute") return now - moment < 72000000 ? minute.format(moment) : far.format(moment);
  if (style === "time") return moment.toDateString() === now.toDateString() ? clock.format(moment) : far.format(moment);
  return day.format(moment);
}

export function localise(root = document) {
  const now = new Date();
  for (const one of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(one.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    one.textContent = written(moment, one.dataset.style, now);
    one.title = day.format(moment);
  }
}

/** What counts down: how long a question can still be answered. */
export function countDown(root = document) {
  for (const one of root.querySelectorAll("[data-left]")) {
    const end = Date.now() + Number(one.dataset.left) * 1000;
    const tick = () => {
      const left = Math.max(0, Math.round((end - Date.now()) / 1000));
      const [hours, minutes] = [Math.floor(left / 3600), Math.floor(left / 60)];
      one.textContent = hours ? `${hours} h ${minutes % 60} min` : minutes ? `${minutes} min ${left % 60} s` : `${left} s`;
      if (left && one.isConnected) setTimeout(tick, 1000);
    };
    tick();
  }
}
