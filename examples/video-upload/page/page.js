// The page sends its file straight to the storage, asks its server to encode it, and follows it to its end.

const element = (id) => document.getElementById(id);
const form = document.querySelector("form");
const failure = element("failure");
const [reason, again] = failure.children;

const say = (text) => {
  element("status").textContent = text;
};

/** Shows a failure. `retry` is called when the user tries again. */
function fail(text, retry) {
  say("");
  reason.textContent = text;
  again.onclick = retry;
  failure.hidden = false;
}

async function call(path, body) {
  const response = await fetch(path, {
    ...(body && { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? answer.detail);
  return answer;
}

/** The storage refuses bytes with another checksum, and the same video is encoded only once. */
async function checksumOf(file) {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Sends the file. `fetch` cannot tell the progress. */
function send(file, { url, method, headers }) {
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open(method, url);
    // The browser sets the size itself.
    for (const [name, value] of Object.entries(headers)) {
      if (name.toLowerCase() !== "content-length") request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total }) => {
      element("upload").value = (100 * loaded) / total;
    };
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new Error(`The upload failed: ${request.status}`));
    request.onerror = () => reject(new Error("The upload failed: no connection."));
    request.send(file);
  });
}

async function upload(file) {
  clear();
  say("Uploading");
  const sha256 = await checksumOf(file);
  const announced = await call("uploads", { name: file.name, type: file.type, size: file.size, sha256 });
  await send(file, announced);
  element("upload").value = 100;
  const { id } = await call("videos", { upload_id: announced.upload_id, sha256 });
  // A reload of the page goes on with this video.
  location.hash = id;
  await follow(id);
}

const ends = ["completed", "failed", "cancelled", "expired"];

async function follow(id) {
  for (;;) {
    const { status, progress, error, renditions } = await call(`videos/${id}`);
    element("encoding").value = progress;
    say(status === "completed" ? "Ready" : "Encoding");
    if (status === "completed") return show(renditions);
    if (ends.includes(status)) return fail(error ?? status, () => attempt(() => retry(id)));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

async function retry(id) {
  failure.hidden = true;
  await call(`videos/${id}/retry`, {});
  await follow(id);
}

function show(renditions) {
  for (const { name, url, resolution, duration_s } of renditions) {
    const link = Object.assign(document.createElement("a"), { href: url, textContent: name });
    const facts = Object.assign(document.createElement("span"), { textContent: `${resolution}, ${duration_s} s` });
    const item = document.createElement("li");
    item.append(link, facts);
    element("renditions").append(item);
  }
}

function clear() {
  failure.hidden = true;
  element("renditions").replaceChildren();
  element("upload").value = element("encoding").value = 0;
}

/** Runs an action of the user; when it fails, the user can try it again. */
async function attempt(action) {
  const button = form.querySelector("button");
  button.disabled = true;
  await action().catch((error) => fail(error.message, () => attempt(action)));
  button.disabled = false;
}

form.onsubmit = (event) => {
  event.preventDefault();
  const [file] = form.elements.file.files;
  attempt(() => upload(file));
};

const shown = location.hash.slice(1);
if (shown !== "") {
  element("upload").value = 100;
  attempt(() => follow(shown));
}
