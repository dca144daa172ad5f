import { api, begin, curve, find, make, percent, whole } from "/static/shell.js";

const me = await begin();

async function refresh() {
  const { models } = await api("GET", "/v1/models");
  const cards = models.map(({ name, settings, summary }) => make("a", { class: "card model", href: `/models/${encodeURIComponent(name)}` },
    make("header", {}, make("b", {}, name), make("span", { class: "tag" }, settings.algorithm ?? "gnc")),
    summary.rounds ? curve(summary.curve.bins, true) : make("p", { class: "note" }, "No rounds yet."),
    make("div", { class: "legend" },
      make("span", {}, `${whole(summary.answers.learnt)} learnt`),
      make("span", {}, `${whole(summary.rounds)} rounds`),
      make("span", {}, `${percent(summary.query_rate)} asked`)),
  ));
  find("models").replaceChildren(...(cards.length ? cards : [make("p", { class: "note" }, "No models yet. Start one below, or over the API.")]));
}

const algorithms = { gnc: "gnc: best and likeliest better; silent when sure", gnr: "gnr: best and any other", ttg: "ttg: the two best", gnu: "gnu: best and best upper bound", gnt: "gnt: best and a posterior draw", gnw: "gnw: best and worst" };
for (const [name, text] of Object.entries(algorithms)) find("algorithm").append(make("option", { value: name, selected: name === "gnr" }, text));

const nameOf = (file) => file.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 64);
find("file").addEventListener("change", () => { const [file] = find("file").files; if (file && !find("name").value) find("name").value = nameOf(file); });
const drop = find("drop");
drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault(); drop.classList.remove("over");
  find("file").files = event.dataTransfer.files; find("file").dispatchEvent(new Event("change"));
});

find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  find("problem").textContent = "";
  const name = find("name").value, [file] = find("file").files;
  try {
    const bytes = await file.arrayBuffer();
    const parse = /\.conllu$/i.test(file.name);
    await api("POST", "/v1/models", {
      name, task: parse ? "parse" : "pick", algorithm: parse ? "parser" : find("algorithm").value, question: find("question").value, instructions: find("instructions").value,
      per_round: Number(find("per_round").value), planted: parse ? 0 : Number(find("planted").value),
    });
    try {
      await api("POST", `/v1/models/${encodeURIComponent(name)}/items`, bytes, true);
    } catch (error) {
      await api("DELETE", `/v1/models/${encodeURIComponent(name)}`);
      throw error;
    }
    location.assign(`/${parse ? "parse" : "pick"}/${encodeURIComponent(name)}`);
  } catch (error) { find("problem").textContent = error.message; }
});

find("form").closest("section").hidden = !me.roles.includes("admin");
await refresh();
setInterval(() => { if (!document.hidden) refresh().catch(() => {}); }, 3000);
