import { find } from "/static/shell.js";

find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { token } = await (await fetch("/session")).json();
  const reply = await fetch("/login", {
    method: "POST", headers: { "Content-Type": "application/json", "X-Conquer-Token": token }, body: JSON.stringify({ key: find("key").value }),
  });
  if (!reply.ok) { find("problem").textContent = (await reply.json()).error.message; return; }
  // Only places of this server, as the browser itself reads the address: never a way to somewhere else.
  const next = new URLSearchParams(location.search).get("next") || "/";
  const here = URL.canParse(next, location.origin) && new URL(next, location.origin).origin === location.origin;
  location.assign(here ? new URL(next, location.origin).href : "/");
});
find("form").inert = false;
find("key").focus();
