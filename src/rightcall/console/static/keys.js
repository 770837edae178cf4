/** The keyboard: j and k walk rows, Enter opens one, / searches, ? lists the keys, Esc leaves. */

const GO = { o: "/", i: "/inbox", l: "/live" };

export function listenToKeys({ pause }) {
  let went = 0;
  const dialog = document.getElementById("keys");
  const rows = () => [...document.querySelectorAll("[data-rows] > li")];

  function walk(step) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((one) => one.classList.contains("here"));
    all[at]?.classList.remove("here");
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
    next.classList.add("here");
    next.querySelector("a").focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape") {
      if (field) field.blur();
      return;
    }
    if (field || dialog.open) return;
    if (Date.now() - went < 1200 && GO[event.key]) {
      location.assign(GO[event.key]);
      return;
    }
    went = event.key === "g" ? Date.now() : 0;
    if (event.key === "j") walk(1);
    else if (event.key === "k") walk(-1);
    else if (event.key === "p") pause();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "/") {
      const search = document.getElementById("search");
      if (!search) return location.assign("/live");
      event.preventDefault();
      search.focus();
      search.select();
    }
  });
}
