// Runs in a web page. Sends the requests of the plan in every way that a page can, and reports what it could read.

const { targets, report } = JSON.parse(document.getElementById("plan").textContent);
const limitMs = 5_000;
const within = (promise) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(() => resolve("no answer"), limitMs))]);

async function byFetch(url, { method, headers, body }, mode) {
  try {
    const response = await fetch(url, { method, headers, body, mode });
    return response.type === "opaque" ? "opaque" : `read ${response.status} ${await response.text()}`;
  } catch (error) {
    return `blocked: ${error.message}`;
  }
}

/** Posts a form into a frame. The answer replaces the frame's page, which this page cannot read then. */
function byForm(url, { body }) {
  const frame = document.createElement("iframe");
  frame.name = `frame-${Math.random()}`;
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: url, target: frame.name });
  for (const [name, value] of new URLSearchParams(body)) {
    form.append(Object.assign(document.createElement("input"), { name, value }));
  }
  document.body.append(form);
  return new Promise((resolve) => {
    frame.onload = () => {
      try {
        resolve(`read ${frame.contentDocument.body.textContent}`);
      } catch (error) {
        resolve(`blocked: ${error.message}`);
      }
    };
    form.submit();
  });
}

function byImage(url) {
  const image = new Image();
  return new Promise((resolve) => {
    image.onload = () => resolve("loaded");
    image.onerror = () => resolve("blocked");
    image.src = url;
  });
}

const outcomes = [];
for (const { base, attempts } of targets) {
  for (const attempt of attempts) {
    const url = base + attempt.path;
    const ways = {
      cors: () => byFetch(url, attempt, "cors"),
      "no-cors": () => byFetch(url, attempt, "no-cors"),
      ...(attempt.method === "GET" && { image: () => byImage(url) }),
      ...(attempt.method === "POST" && { form: () => byForm(url, attempt) }),
    };
    for (const [way, send] of Object.entries(ways)) {
      outcomes.push({ url, method: attempt.method, way, outcome: await within(send()) });
    }
  }
}
await fetch(report, { method: "POST", mode: "no-cors", body: JSON.stringify(outcomes) });
