/** The list of calls while they happen: rows come in at the top, or wait as "N new" while it is paused or scrolled. */

import { localise } from "./times.js";

const MOST = 300;
const MANY = 20;  // rows at once, more than anybody reads: then a little later, which spares the server
const PAUSE = 300;

export class Live {
  constructor(list) {
    this.list = list;
    this.fresh = document.getElementById("fresh");
    this.button = document.getElementById("pause");
    this.head = Number(document.body.dataset.head);
    this.told = this.head;
    this.held = new Map();
    this.paused = false;
    this.busy = false;
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

  /** Something was recorded: ask for the rows of it, with this page's filter. */
  async news(head) {
    this.told = Math.max(this.told, head);
    if (this.busy || this.told <= this.head) return;
    this.busy = true;
    let pause = 0, came = false;
    try {
      const query = new URLSearchParams(this.list.dataset.query);
      query.set("after", this.head);
      const answer = await fetch(`/live/rows?${query}`, { headers: { accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      this.head = Number(answer.headers.get("x-rightcall-head")) || this.told;
      const made = document.createElement("template");
      made.innerHTML = await answer.text();  // our own page, escaped there
      const rows = [...made.content.querySelectorAll("li.call")];
      for (const row of rows.reverse()) this.take(row);
      pause = rows.length >= MANY ? PAUSE : 0;
      came = true;
      if (!this.paused && scrollY < 80) this.show();
      this.tell();
    } catch {
      // the server is gone: the stream says so
    } finally {
      setTimeout(() => {
        this.busy = false;
        if (came) this.news(this.told);  // what was told meanwhile
      }, pause);
    }
  }

  take(row) {
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
    this.held.clear();
    while (this.list.children.length > MOST) this.list.lastElementChild.remove();
    this.tell();
  }

  tell() {
    this.fresh.hidden = this.held.size === 0;
    this.fresh.querySelector("span").textContent = this.held.size;
  }
}
