import { find } from "/static/shell.js";

find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { token } = await (await fetch("/session")).json();
  const reply = await fetch("/login", {
    method: "POST", headers: { "Content-Type": "application/json", "X-Conquer-Token": token }, body: JSON.stringify({ key: find("key").value }),
  });
  if (!reply.ok) { find("problem").textContent = (await reply.json()).error.message; return; }
  const next = new URLSearchParams(location.search).get("next") || "/";
  // Only paths of this server: never a way to somewhere else.
  location.assign(next.startsWith("/") && !next.startsWith("//") ? next : "/");
});
find("key").focus();
