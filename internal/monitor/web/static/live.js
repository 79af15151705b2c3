// Renews the parts of the page that are marked as live whenever a crawl changes, at most every two seconds. Only a page that is seen has a
// connection for it: browsers open six to a server at most.
"use strict";
if (document.querySelector("[data-live]")) {
  let busy = false, source = null;
  const renew = async () => {
    if (busy) return;
    busy = true;
    try {
      const address = document.querySelector("[data-live]").dataset.live; // the page may be that of a form that was sent
      const response = await fetch(address, { credentials: "same-origin" });
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const next = page.getElementById(part.id);
        if (next && next.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) part.replaceChildren(...next.childNodes);
      }
    } catch { /* the monitor is away; the next event renews the page */ } finally {
      setTimeout(() => { busy = false; }, 2000);
    }
  };
  const stop = () => { source?.close(); source = null; };
  const follow = () => {
    stop();
    if (document.hidden) return;
    source = new EventSource("/api/v1/events");
    source.addEventListener("crawls", renew);
  };
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", stop);
  addEventListener("pageshow", follow);
}
