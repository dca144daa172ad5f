// What a lead does to a model: another title, a pause, the end of it. Each is asked about first.
import { api, find } from "/static/shell.js";

// A dialog with one form; `act` runs when it is sent, and what goes wrong is said in it.
function asking(dialog, act) {
  const form = dialog.querySelector("form"), problem = dialog.querySelector(".error");
  for (const button of dialog.querySelectorAll("[value=cancel]")) button.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try { await act(); dialog.close(); } catch (error) { problem.textContent = error.message; }
  });
}

export function lead(name, base, changed) {
  let now = { title: "", paused: false };
  const pause = find("pause");
  asking(find("renaming"), async () => changed(await api("PATCH", base, { title: find("newtitle").value.trim() })));
  asking(find("pausing"), async () => changed(await api("PATCH", base, { paused: !now.paused })));
  asking(find("deleting"), async () => {
    if (find("really").value !== name) throw new Error(`Type ${name} to delete it.`);
    await api("DELETE", base);
    location.assign("/");
  });
  find("rename").addEventListener("click", () => { find("newtitle").value = now.title; find("renaming").showModal(); });
  find("votes").addEventListener("change", async ({ target }) => {
    find("problem").textContent = find("voted").textContent = "";
    try {
      const found = await api("POST", `${base}/votes`, target.files[0], true);
      find("voted").textContent = `${found.votes} votes read, ${found.learnt} learnt.`;
      changed(await api("GET", base));
    } catch (error) { find("problem").textContent = error.message; }
    target.value = "";
  });
  pause.addEventListener("click", () => find("pausing").showModal());
  find("delete").addEventListener("click", () => { find("really").value = ""; find("deleting").showModal(); });
  // Told after every look at the model.
  return ({ title = "", paused = false, summary }) => {
    now = { title, paused };
    pause.textContent = paused ? "Go on" : "Pause";
    find("pausewhat").textContent = paused
      ? "People are asked new questions again."
      : "No new questions are asked until you continue. Open questions can still be answered, and count.";
    find("pauseyes").textContent = paused ? "Go on" : "Pause";
    find("pausetitle").textContent = paused ? "Go on asking?" : "Pause the questions?";
    find("deletewhat").textContent = `${summary.answers.learnt} learnt answers, all items and the whole log go, and cannot be brought back. Download what you want to keep first.`;
    find("paused").hidden = !paused;
  };
}
