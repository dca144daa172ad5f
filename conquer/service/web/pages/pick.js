// Ask, answer, next. An answer is kept in the browser until the server has it; the event id makes a retry harmless.
import { ApiError, api, begin, call, find, make, pathPart, stranded, whole } from "/static/shell.js";
import { isBrief, showContext, showItem } from "/static/card.js";
import { drawBoard } from "/static/standing.js";
import { drawTree } from "/static/tree.js";

const name = pathPart(2), base = `/v1/models/${encodeURIComponent(name)}`;
const KEPT = `conquer:${name}:unsent`;
let current = null, since = 0, busy = true, looking = 0, voter = localStorage.getItem("conquer:voter") || "";
const history = JSON.parse(sessionStorage.getItem(`conquer:${name}:history`) || "[]");

const me = await begin(name);
const task = await api("GET", `${base}/task`).catch(stranded);
const parsing = task.task === "parse";
call(task.title || name);
// A person who came by a link answers under the name that the link gave, and cannot choose another.
if (me.voter) voter = me.voter;
find("another").hidden = Boolean(me.voter);
document.body.classList.toggle("parse", parsing);
if (parsing) {
  document.title = "Which word is the head? · CONQUER";
  find("both_bad").firstChild.textContent = "Neither ";
  find("tie").hidden = true;
  find("bad").textContent = "neither is its head";
  for (const one of document.querySelectorAll(".tied")) one.hidden = true;
  for (const one of document.querySelectorAll(".meant")) one.textContent = one.textContent.replace(/one .*/, "word is the head");
  for (const one of document.querySelectorAll(".better")) one.textContent = "is the head";
}
if (task.question) find("question").textContent = task.question;
for (const id of ["instructions", "more", "guide"]) find(id).textContent = task.instructions;
find("panel").hidden = !task.instructions;
find("me").textContent = voter;
// Open until these instructions have been seen in this browser.
const SEEN = `conquer:${name}:seen`;
find("panel").open = localStorage.getItem(SEEN) !== task.instructions;

// What can be undone, also after a reload: as many questions as the browser has room for.
function remember() {
  for (const kept = history.slice(); ; kept.shift()) {
    try { sessionStorage.setItem(`conquer:${name}:history`, JSON.stringify(kept)); return; } catch (error) { if (!kept.length) return; }
  }
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// The network may come and go: everything sent here may safely be sent again.
async function insist(method, path, body) {
  for (let wait = 250; ; wait = Math.min(8000, wait * 2)) {
    try {
      const reply = await api(method, path, body);
      find("saved").className = "";
      return reply;
    } catch (error) {
      if (error instanceof ApiError && ![408, 429, 500, 502, 503, 504].includes(error.status)) throw error;
      find("saved").className = "lost";
      find("saved").textContent = "No connection – your answer is kept and will be sent";
      await sleep(wait);
    }
  }
}

const card = (side) => find(`${side}-card`), text = (side) => card(side).querySelector(".text");

function show(question) {
  document.querySelector("main").classList.remove("loading");
  current = question;
  const { event } = question;
  for (const side of ["left", "right"]) card(side).classList.remove("picked");
  if (!event) {
    find("cards").hidden = find("context").hidden = true;
    find("question").textContent = question.done ? "Done. Thank you!" : question.paused ? "Paused" : question.reason[0].toUpperCase() + question.reason.slice(1);
    end(question);
    return;
  }
  find("cards").hidden = false;
  find("question").textContent = task.question || "Which one is better?";
  scrollTo(0, 0);
  find("end").hidden = true;
  for (const id of ["tie", "both_bad", "skip", "flag"]) find(id).hidden = id === "tie" && parsing;
  if (question.parse) return showParse(question);
  const byId = Object.fromEntries(question.items.map((item) => [item.id, item]));
  const right = event.shown.map((one) => one.id).find((id) => id !== event.left) ?? null;
  current.sides = { left: event.left, right };
  const pair = right === null ? [event.left] : [event.left, right];
  // Both in the same size: the longer decides.
  find("cards").classList.toggle("brief", pair.every((id) => isBrief(byId[id], task.format)));
  showItem(text("left"), byId[event.left], task.format, base);
  card("right").hidden = right === null;
  if (right !== null) showItem(text("right"), byId[right], task.format, base);
  showContext(find("context"), question.context, task.format);
  find("progress").textContent = `${whole(question.answered)} answered by you`;
  find("say").textContent = `Question ${question.answered + 1}. Left: ${text("left").innerText}. Right: ${text("right").innerText}`;
  since = performance.now();
  free(true);
}

// What a person sees when there is nothing to answer: why, and who has won where that is known.
function end(question) {
  find("progress").textContent = `${whole(question.answered)} answered by you`;
  find("say").textContent = question.reason;
  find("undo").disabled = !history.length;
  for (const id of ["tie", "both_bad", "skip", "flag"]) find(id).hidden = true;
  find("end").hidden = busy = false;
  // There may be a question later: somebody goes on, or others have answered theirs.
  if (!question.done) looking = setTimeout(() => next(), 15000);
  const why = question.paused ? "The questions will continue later. Your answers count." : question.done ? question.reason : null;
  find("end").replaceChildren(...[why, question.done ? null : "Looking again every 15 seconds."].filter(Boolean).map((line) => make("p", {}, line)), ...(question.board ? [drawBoard(question.board)] : []));
}

// The two candidate heads of one word; the root is "the sentence itself".
function showParse(question) {
  const { event, parse } = question;
  const right = event.shown.map((one) => one.id).find((id) => id !== event.left);
  current.sides = { left: event.left, right };
  const named = (head) => (head === 0 ? "the sentence itself" : parse.forms[head - 1]);
  const word = parse.forms[parse.word - 1];
  find("question").replaceChildren("Which word is the head of ", make("mark", { dir: "auto" }, word), "?");
  for (const side of ["left", "right"]) {
    const head = Number(current.sides[side]);
    const note = head === 0 ? "the main word of the sentence" : `word ${head} of ${parse.forms.length}`;
    text(side).replaceChildren(make("strong", { dir: "auto" }, named(head)), make("span", { class: "note" }, ` ${note}`));
  }
  find("tree").hidden = false;
  drawTree(find("tree"), parse, Number(current.sides.left), Number(current.sides.right));
  find("progress").textContent = `${whole(question.answered)} answered by you`;
  find("say").textContent = `${parse.forms.join(" ")}. Which word is the head of ${word}? Left: ${named(Number(event.left))}. Right: ${named(Number(right))}.`;
  since = performance.now();
  free(true);
}

function free(yes) {
  busy = !yes;
  for (const id of ["left", "right", "tie", "both_bad", "skip", "flag"]) find(id).disabled = !yes;
  find("undo").disabled = !yes || !history.length;
}

async function next() {
  free(false);
  const kept = localStorage.getItem(KEPT);
  if (kept) await send(JSON.parse(kept));
  const slow = setTimeout(() => { find("wait").hidden = false; }, 1500);
  const question = await insist("POST", `${base}/next`, { voter }).finally(() => clearTimeout(slow)).catch(stranded);
  find("wait").hidden = true;
  show(question);
}

async function send({ event, body }) {
  try {
    await insist("POST", `${base}/events/${encodeURIComponent(event)}/answer`, body);
    find("saved").textContent = "Saved";
  } catch (error) {
    find("saved").textContent = error.message;
  }
  localStorage.removeItem(KEPT);
}

async function answer(winner, side) {
  if (busy || !current?.event) return;
  free(false);
  if (side) card(side).classList.add("picked");
  const seconds = Math.min(86400, (performance.now() - since) / 1000);
  const kept = { event: current.event.event_id, body: { winner, voter, seconds } };
  localStorage.setItem(KEPT, JSON.stringify(kept));
  history.push(current);
  if (history.length > 50) history.shift();
  remember();
  await next();
}

async function undo() {
  if (busy || !history.length) return;
  free(false);
  // The question that comes back is not to be taken away by another.
  clearTimeout(looking);
  const last = history.pop();
  remember();
  try {
    await insist("POST", `${base}/events/${encodeURIComponent(last.event.event_id)}/undo`, { voter });
    find("saved").textContent = "Undone – answer it again";
    show(last);
  } catch (error) {
    find("saved").textContent = error.message;
    if (current?.event) free(true);
    else end(current);
  }
}

async function flag() {
  if (busy || !current?.event) return;
  find("comment").value = "";
  find("flagging").returnValue = "";
  find("flagging").showModal();
}
find("flagging").addEventListener("close", async () => {
  if (find("flagging").returnValue !== "send") return;
  await insist("POST", `${base}/events/${encodeURIComponent(current.event.event_id)}/flag`, { voter, comment: find("comment").value });
  find("saved").textContent = "Flagged";
});

const acts = {
  left: () => current?.sides && answer(current.sides.left, "left"), right: () => current?.sides?.right && answer(current.sides.right, "right"),
  tie: () => answer("tie"), both_bad: () => answer("both_bad"), skip: () => answer("skip"), undo, flag, help: () => find("helping").showModal(),
};
for (const [id, act] of Object.entries(acts)) find(id).addEventListener("click", act);
const keys = { 1: "left", ArrowLeft: "left", 2: "right", ArrowRight: "right", 0: "tie", b: "both_bad", " ": "skip", Backspace: "undo", f: "flag", h: "help", "?": "help" };
if (parsing) delete keys[0];
addEventListener("keydown", (event) => {
  const act = keys[event.key];
  if (!act || event.repeat || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || event.target.matches("input, textarea")) return;
  // Shift and an arrow select text; space opens and closes the instructions that have the focus.
  if ((event.shiftKey && event.key.startsWith("Arrow")) || (event.key === " " && event.target.matches("summary"))) return;
  event.preventDefault();
  acts[act]();
});

find("helping").addEventListener("close", () => {
  if (find("helping").returnValue !== "rename") return;
  localStorage.removeItem("conquer:voter");
  location.reload();
});

if (!voter) {
  find("who").showModal();
  find("who").addEventListener("cancel", (event) => event.preventDefault());
  await new Promise((done) => find("who").addEventListener("close", done, { once: true }));
  voter = find("voter").value.trim().replace(/[\/?#\\\x00-\x1f]/g, "-") || "someone";
  localStorage.setItem("conquer:voter", voter);
  find("me").textContent = voter;
}
localStorage.setItem(SEEN, task.instructions);
await next();
