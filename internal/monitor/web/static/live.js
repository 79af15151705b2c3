// Renews the parts of the page that are marked as live whenever a crawl changes, at most every two seconds.
"use strict";
if (document.querySelector("[data-live]")) {
  let busy = false;
  const renew = async () => {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const response = await fetch(location.pathname + location.search, { credentials: "same-origin" });
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
  new EventSource("/api/v1/events").addEventListener("crawls", renew);
}
