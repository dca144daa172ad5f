// Links by which people without a key answer questions of this model: made, listed and revoked.
import { api, find, make, whole } from "/static/shell.js";

const day = (at) => new Date(at * 1000).toLocaleDateString("en-GB", { dateStyle: "medium" });
const holds = ({ expires, uses, used }) => (expires == null || expires * 1000 > Date.now()) && (uses == null || used < uses);
const came = ({ used, uses }) => (uses == null ? whole(used) : `${whole(used)} of ${whole(uses)}`);

export async function invitations(base) {
  const place = `${base}/invitations`;
  async function refresh() {
    const { invitations: links } = await api("GET", place);
    find("links").hidden = !links.length;
    find("linkrows").replaceChildren(...links.map((one) => make("tr", {}, ...[one.note || "–", day(one.created), one.expires == null ? "no end" : day(one.expires), came(one)].map((text) => make("td", { dir: "auto" }, text)),
      make("td", { class: "note" }, holds(one) ? "open" : "run out"),
      make("td", {}, make("button", { type: "button", onclick: () => back(one), "aria-label": `Revoke the link ${one.note || one.id}` }, "Revoke")))));
  }
  async function back(one) {
    if (!confirm("Take this link back? Everyone who came by it is signed out; what they answered stays.")) return;
    try { await api("DELETE", `${place}/${encodeURIComponent(one.id)}`); find("newlink").hidden = true; } catch (error) { find("linkproblem").textContent = error.message; }
    await refresh();
  }
  find("inviting").addEventListener("submit", async (event) => {
    event.preventDefault();
    find("linkproblem").textContent = "";
    const asked = { note: find("linknote").value, ...(find("linkuses").value && { uses: Number(find("linkuses").value) }), ...(find("linkdays").value && { hours: 24 * Number(find("linkdays").value) }) };
    try {
      const { path } = await api("POST", place, asked);
      find("link").value = new URL(path, location.origin).href;
      find("newlink").hidden = false;
      find("link").select();
    } catch (error) { find("linkproblem").textContent = error.message; }
    await refresh();
  });
  find("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(find("link").value); find("copied").textContent = "Copied"; } catch { find("link").select(); find("copied").textContent = "Press Ctrl+C"; }
  });
  await refresh();
}
