// The page hears of its reports by push, and polls nothing. It reads a report only when its channel opens, and at the report's end.

const ends = ["completed", "failed", "cancelled", "expired"];
const longestWaitMs = 20_000;

/** What is known of each report, by its id. */
const reports = new Map();

function show(id, change) {
  const report = { ...reports.get(id), ...change };
  reports.set(id, report);
  let item = document.getElementById(id);
  if (item === null) {
    item = Object.assign(document.createElement("li"), { id });
    item.append(Object.assign(document.createElement("progress"), { max: 100 }), document.createElement("p"));
    document.getElementById("reports").append(item);
  }
  const [bar, text] = item.children;
  bar.value = report.progress ?? 0;
  text.textContent = report.result?.text ?? `${report.status} ${report.progress ?? 0} %`;
}

/** Reads a report: the answer is the truth, messages are hints. */
async function read(id) {
  const response = await fetch(`reports/${id}`);
  if (response.ok) show(id, await response.json());
}

function hear({ type, task_id: id, status, progress, result }) {
  if (!type.startsWith("task.")) return;
  show(id, { status, progress: progress ?? reports.get(id)?.progress });
  if (!ends.includes(status)) return;
  if (result === undefined) read(id);
  else show(id, { result, progress: 100 });
}

/** Connects to a channel. Resolves when the connection has ended. */
async function connect() {
  const response = await fetch("channel", { method: "POST" });
  if (!response.ok) throw new Error(`no channel: ${response.status}`);
  const { url } = await response.json();
  const socket = new WebSocket(url);
  await new Promise((resolve) => {
    socket.onopen = () => {
      document.getElementById("channel").textContent = "connected";
      for (const [id, { status }] of reports) if (!ends.includes(status)) read(id);
    };
    socket.onmessage = ({ data }) => hear(JSON.parse(data));
    socket.onclose = resolve;
  });
}

/** Stays connected. The waits between connections grow, and are random, so that many pages do not come back at the same time. */
async function stayConnected() {
  for (let tries = 0; ; tries++) {
    const startedAt = Date.now();
    await connect().catch(console.error);
    document.getElementById("channel").textContent = "connecting";
    if (Date.now() - startedAt > 30_000) tries = 0;
    const waitMs = Math.random() * Math.min(longestWaitMs, 500 * 2 ** tries);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

document.getElementById("start").onclick = async () => {
  const response = await fetch("reports", { method: "POST" });
  const { task_id: id } = await response.json();
  // A message can be faster than this answer.
  if (!reports.has(id)) show(id, { status: "pending" });
};

stayConnected();
