// A link's secret is after the #, which browsers do not send; it is sent once, when the person agrees.
import { find } from "/static/shell.js";

const token = decodeURIComponent(location.hash.slice(1));
history.replaceState(null, "", location.pathname);
const session = await (await fetch("/session")).json();
const problem = (text) => void (find("problem").textContent = text);

async function join(name) {
  const reply = await fetch("/join", {
    method: "POST", headers: { "Content-Type": "application/json", "X-Conquer-Token": session.token }, body: JSON.stringify({ token, name }),
  });
  const told = await reply.json();
  if (!reply.ok) { problem(told.error.message); return; }
  // The place is made here from the model's name: a link leads nowhere else.
  location.assign(`/pick/${encodeURIComponent(told.model)}`);
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!token) { problem("The link is not whole: copy all of it, also what follows the #."); return; }
  join(find("name").value.trim().replace(/[\/?#\\\x00-\x1f\x7f]/g, "-")).catch((error) => problem(error.message));
});
// Who is signed in already decides what becomes of that.
find("already").hidden = !session.name && !session.voter;
find("already").textContent = session.voter ? `In this browser you are ${session.voter}. By the same link you stay that. With another link, joining here ends your session for ${session.model} in this browser.` : `You are signed in as ${session.name}. Starting here signs you out of that.`;
find("form").inert = false;
find("name").focus();
