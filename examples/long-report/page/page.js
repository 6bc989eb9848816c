// The page hears of its reports by push, and polls nothing. It reads a task when the channel opens, and at the task's end.

const form = document.querySelector("form");
const button = form.querySelector("button");
const notice = document.querySelector("[role=status]");
const ends = ["completed", "failed", "cancelled", "expired"];
const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const post = (path, body, headers = {}) =>
  fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

/** The reports of this page by their ids: the last state of each. */
const reports = new Map();
/** Messages that came during a submit: they can be faster than its answer. */
const early = new Map();

function cardOf(id) {
  const known = document.getElementById(id);
  if (known !== null) return known;
  const card = document.querySelector("template").content.firstElementChild.cloneNode(true);
  card.id = id;
  card.querySelector(".title").textContent = `Report ${id}`;
  card.querySelector("a").href = `/api/tasks/${id}/result`;
  card.querySelector(".cancel").onclick = () => change(id, "cancel", {});
  card.querySelector(".extend").onclick = () => change(id, "extend", { retention_seconds: 30 * 86_400 });
  card.querySelector(".acknowledge").onclick = () => change(id, "acknowledge", {});
  document.querySelector("ul").prepend(card);
  return card;
}

function show(id, news) {
  const report = { ...reports.get(id), ...news };
  reports.set(id, report);
  const card = cardOf(id);
  const part = (selector) => card.querySelector(selector);
  const ended = ends.includes(report.status);
  const hasResult = report.status === "completed" && report.outcome !== "NO_DATA" && !report.acknowledged;
  part("progress").value = report.status === "completed" ? 100 : (report.progress ?? 0);
  part(".status").textContent = report.status;
  part(".outcome").textContent = report.acknowledged ? "deleted" : (report.outcome ?? "none yet");
  part(".until").textContent = report.retained_until ?? "its end, and a week longer";
  part("a").hidden = part(".acknowledge").hidden = !hasResult;
  part(".extend").hidden = !ended;
  part(".cancel").hidden = ended;
}

/** Reads a task. The answer is the truth, messages are hints. An answer can be a second older than a message. */
async function read(id) {
  const response = await fetch(`/api/tasks/${id}`);
  if (!response.ok) return;
  const task = await response.json();
  if (ends.includes(reports.get(id)?.status) && !ends.includes(task.status)) return wait(1).then(() => read(id));
  show(id, task);
}

async function change(id, what, body) {
  const response = await post(`/api/tasks/${id}/${what}`, body);
  if (response.status === 204) return show(id, { acknowledged: true });
  if (response.ok) return show(id, await response.json());
  notice.textContent = (await response.json()).detail;
}

function hear({ type, task_id: id, status, outcome, progress }) {
  if (!type.startsWith("task.")) return;
  const news = { status, outcome, progress };
  if (reports.has(id)) {
    show(id, news);
    if (ends.includes(status)) read(id);
  } else if (button.disabled) early.set(id, news);
}

/** Connects to a channel. Resolves when the connection has ended. */
async function connect() {
  const response = await post("/api/channels", {});
  if (!response.ok) throw new Error(`no channel: ${response.status}`);
  const socket = new WebSocket((await response.json()).url);
  await new Promise((resolve) => {
    socket.onopen = () => {
      document.body.dataset.channel = "open";
      for (const [id, { status }] of reports) if (!ends.includes(status)) read(id);
    };
    socket.onmessage = ({ data }) => hear(JSON.parse(data));
    socket.onclose = resolve;
  });
}

/** Stays connected. The waits grow, and are random, so that many pages do not come back at the same time. */
async function stayConnected() {
  for (let tries = 0; ; tries++) {
    const startedAt = Date.now();
    await connect().catch(console.error);
    document.body.dataset.channel = "closed";
    if (Date.now() - startedAt > 30_000) tries = 0;
    await wait(Math.random() * Math.min(20, 0.5 * 2 ** tries));
  }
}

/** Shows each fault at its field. */
function showFaults(faults) {
  for (const field of form.querySelectorAll("[name]")) {
    const fault = faults.find(({ path }) => path === `/input/${field.name}`);
    field.toggleAttribute("aria-invalid", fault !== undefined);
    field.parentElement.querySelector("output").textContent = fault?.message ?? "";
  }
}

/** Submits. Comes again after `Retry-After`, with the same key, so that there is one report. */
async function submit(input) {
  const key = { "idempotency-key": crypto.randomUUID() };
  for (;;) {
    const response = await post("/api/reports", input, key);
    if (response.status !== 429 && response.status !== 503) return response;
    const seconds = Number(response.headers.get("retry-after") ?? 5);
    notice.textContent = `Many reports are made at the moment. Next try in ${seconds} seconds.`;
    await wait(seconds);
  }
}

async function make() {
  const { region, firstMonth, months, seconds, format } = Object.fromEntries(new FormData(form));
  const input = { region, firstMonth, format, months: Number(months), seconds: Number(seconds) };
  const response = await submit(input);
  const { errors = [], detail = "", task_id: id, status } = await response.json();
  showFaults(errors);
  notice.textContent = detail;
  if (!response.ok) return;
  show(id, { status, ...early.get(id) });
  if (ends.includes(reports.get(id).status)) read(id);
}

form.onsubmit = async (event) => {
  event.preventDefault();
  button.disabled = true;
  await make().catch(() => {
    notice.textContent = "The server does not answer.";
  });
  early.clear();
  button.disabled = false;
};

const { tasks } = await (await fetch("/api/tasks?tag.client=page&limit=10")).json();
for (const task of tasks.reverse()) show(task.task_id, task);
stayConnected();
