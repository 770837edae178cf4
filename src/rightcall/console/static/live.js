/** The list of calls while they happen: rows come in at the top, or wait as "N new" while it is paused or scrolled. */

import { localise } from "./times.js";

const MOST = 300;

export class Live {
  constructor(list) {
    this.list = list;
    this.fresh = document.getElementById("fresh");
    this.button = document.getElementById("pause");
    this.held = new Map();
    this.paused = false;
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.pause(!this.paused));
    this.fresh.addEventListener("click", () => {
      scrollTo({ top: 0 });
      this.pause(false);
      this.show();
    });
    addEventListener("scroll", () => scrollY < 80 && !this.paused && this.show(), { passive: true });
  }

  pause(paused) {
    this.paused = paused;
    this.button.setAttribute("aria-pressed", String(paused));
    this.button.querySelector("span").textContent = paused ? "Go on" : "Pause";
    if (!paused) this.show();
  }

  /** Rows of calls that were recorded or have ended, the newest first. */
  take(html) {
    const made = document.createElement("template");
    made.innerHTML = html;  // our own page, escaped there
    for (const row of [...made.content.querySelectorAll("li.call")].reverse()) this.put(row);
    if (!this.paused && scrollY < 80) this.show();
    this.tell();
  }

  put(row) {
    const there = document.getElementById(row.id);
    if (there) {
      row.classList.toggle("here", there.classList.contains("here"));
      there.replaceWith(row);
      localise(row);
    } else {
      this.held.set(row.id, row);
    }
  }

  show() {
    for (const row of this.held.values()) {
      row.classList.add("arrived");
      localise(row);
      this.list.prepend(row);
    }
    if (this.held.size) document.getElementById("nothing")?.remove();
    this.count(this.held.size);
    this.held.clear();
    while (this.list.children.length > MOST) this.list.lastElementChild.remove();
    this.tell();
  }

  /** The count of a filter is of when the page was made. */
  count(more) {
    const since = document.getElementById("since");
    if (!since || !more) return;
    since.hidden = false;
    since.firstElementChild.textContent = Number(since.firstElementChild.textContent) + more;
  }

  tell() {
    this.fresh.hidden = this.held.size === 0;
    this.fresh.querySelector("span").textContent = this.held.size;
  }
}
