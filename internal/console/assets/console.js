// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0
// What pages gain with scripts: live notices, keys, copying. Nothing here
// decides anything: every decision is a form that a person sends.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Live notices. The stream says what is new; the page changes when asked to.
  function listen(notice) {
    if (notice.dataset.listening) return;
    notice.dataset.listening = "yes";
    const source = new EventSource(notice.dataset.live);
    const say = (text) => {
      notice.querySelector("[data-news]").textContent = text;
      notice.hidden = false;
    };
    notice.setAttribute("role", "status");
    source.addEventListener("new", (e) => {
      const { count, more } = JSON.parse(e.data);
      say(count + (more ? "+" : "") + " new:");
    });
    source.addEventListener("changed", (e) => say("This operation has moved on: it is " + JSON.parse(e.data).status + "."));
    source.addEventListener("approvals", (e) => {
      const { gone, new: fresh } = JSON.parse(e.data);
      for (const [id, words] of Object.entries(gone)) strike(id, words);
      const ended = Object.keys(gone).length;
      const parts = [];
      if (ended) parts.push(ended + " decided elsewhere");
      if (fresh) parts.push(fresh + " new");
      say(parts.join(", ") + ":");
    });
    source.addEventListener("ended", () => {
      source.close();
      say("Your session has ended.");
    });
    addEventListener("pagehide", () => source.close());
    new MutationObserver((_, observer) => {
      if (notice.isConnected) return;
      source.close();
      observer.disconnect();
    }).observe(document.getElementById("main"), { childList: true, subtree: true });
  }

  // A proposal that others decided stays where it was and says so.
  function strike(id, words) {
    const row = document.getElementById("row-" + id);
    if (!row || row.classList.contains("gone")) return;
    row.classList.add("gone");
    all("input, .button", row).forEach((control) => control.remove());
    const note = document.createElement("span");
    note.className = "flag quiet";
    note.textContent = "Decided elsewhere: " + words;
    row.lastElementChild.append(note);
  }

  // Commands can be copied where the browser permits it.
  function copier(pre) {
    if (!navigator.clipboard || pre.dataset.copier) return;
    pre.dataset.copier = "yes";
    const text = pre.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copied";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    });
    pre.prepend(button);
  }

  function prepare() {
    all("[data-live]").forEach(listen);
    all("pre.copy").forEach(copier);
    all(".keys").forEach((keys) => (keys.hidden = false));
  }

  // Rows by j and k: the focus goes to the row's link, so that Enter opens it.
  function step(by) {
    const rows = all("[data-row]");
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const row = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by))];
    rows.forEach((other) => other.classList.toggle("here", other === row));
    const link = row.querySelector("a[href]");
    if (link) link.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  function open(id) {
    const dialog = document.getElementById(id);
    if (dialog && !dialog.open) dialog.showModal();
  }

  let leading = false;
  const places = { o: "/", l: "/ledger", u: "/uncertain", a: "/approvals" };
  addEventListener("keydown", (e) => {
    const typing = e.target.closest && e.target.closest("input, textarea, select, [contenteditable]");
    if (typing || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (leading) {
      leading = false;
      if (places[e.key]) {
        location.assign(places[e.key]);
        return;
      }
    }
    if (e.key === "j") step(1);
    else if (e.key === "k") step(-1);
    else if (e.key === "g") leading = true;
    else if (e.key === "?") open("help");
    // The dialog's first control is "Not now": a second Enter approves nothing.
    else if (e.key === "a") open("confirm");
    else if (e.key === "/") {
      const field = document.getElementById("f-text");
      if (!field) return;
      e.preventDefault();
      field.focus();
    }
  });

  document.addEventListener("htmx:after:swap", prepare);
  document.addEventListener("htmx:afterSwap", prepare);
  prepare();
})();
