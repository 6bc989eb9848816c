import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Answer, problem, programOf, type Seen, StubApi } from "./stub-api.ts";

const { offload } = programOf({
  acknowledge: async () => ({
    register: (await import("../../../src/tools/cli/result-commands.ts")).registerAcknowledge,
  }),
  result: () => import("../../../src/tools/cli/result-commands.ts"),
  submit: () => import("../../../src/tools/cli/submit-command.ts"),
  upload: () => import("../../../src/tools/cli/upload.ts"),
});

const id = "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11";
let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "offload-files-"));
  file = join(folder, "talk.mp4");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** An API with its bucket, and a task. */
async function start(task: object = { status: "completed" }, result: Answer = { text: "bytes", type: "video/mp4" }) {
  let uploads = 0;
  const api: StubApi = await StubApi.start(({ method, path }: Seen): Answer => {
    if (path.startsWith("/bucket/")) return method === "PUT" ? { text: "" } : result;
    if (path === "/uploads") {
      const upload_id = `upload-${++uploads}`;
      const request = {
        method: "PUT",
        url: `${api.url}/bucket/${upload_id}`,
        headers: { "content-type": "video/mp4" },
      };
      return { status: 201, json: { upload_id, ...request, expires_at: "later" } };
    }
    if (path === "/tasks")
      return { status: 202, json: { task_id: id, status: "pending", poll_url: "/", created_at: "" } };
    if (path.endsWith("/acknowledge")) return { status: 204, text: "" };
    if (path.endsWith("/result")) return { status: 303, text: "", headers: { location: `${api.url}/bucket/result` } };
    return { json: { task_id: id, type: "a", result: null, result_url: `/tasks/${id}/result`, ...task } };
  });
  return api;
}

const callsOf = (api: StubApi) => api.seen.map(({ method, path }) => `${method} ${path}`);

describe("upload", () => {
  test("sends the file, and prints the upload's id alone", async () => {
    writeFileSync(file, "moving pictures");
    await using api = await start();
    expect(await offload(api.url, ["upload", file])).toMatchObject({ code: 0, out: "upload-1\n", notes: "" });
    expect(api.seen).toMatchObject([
      { path: "/uploads", body: { content_type: "video/mp4", file_name: "talk.mp4", size_bytes: 15 } },
      { method: "PUT", path: "/bucket/upload-1", authorization: undefined, body: "moving pictures" },
    ]);
  });

  test("--content-type names another media type, and --json prints JSON", async () => {
    writeFileSync(file, "");
    await using api = await start();
    const { out } = await offload(api.url, ["upload", file, "--content-type", "video/webm", "--json"]);
    expect(JSON.parse(out)).toEqual({ upload_id: "upload-1" });
    expect(api.seen[0]?.body).toMatchObject({ content_type: "video/webm", size_bytes: 0 });
  });

  test.each(["missing.mp4", "."])("a path that is not a file is a wrong command line: %s", async (name) => {
    await using api = await start();
    const { code, notes } = await offload(api.url, ["upload", join(folder, name)]);
    expect([code, notes]).toEqual([2, expect.stringContaining("could not read")]);
    expect(api.seen).toEqual([]);
  });
});

describe("submit --file", () => {
  test("each file is sent, and the task names its upload", async () => {
    const notes = join(folder, "notes.unknown");
    writeFileSync(file, "x");
    writeFileSync(notes, "y");
    await using api = await start();
    const files = ["--file", `video=${file}`, "--file", `notes=${notes}`, "--file", `old=${id}`];
    expect(await offload(api.url, ["submit", "video.cut", ...files])).toMatchObject({ code: 0 });
    expect(api.seen[2]?.body).toMatchObject({ content_type: "application/octet-stream" });
    expect(api.seen.at(-1)).toMatchObject({
      path: "/tasks",
      body: { type: "video.cut", input: {}, files: { video: "upload-1", notes: "upload-2", old: id } },
    });
  });

  test.each(["video", "=x", "video="])("%s is not name=path", async (text) => {
    await using api = await start();
    expect(await offload(api.url, ["submit", "video.cut", "--file", text])).toMatchObject({ code: 2 });
  });

  test("--from does not take it", async () => {
    await using api = await start();
    const args = ["submit", "video.cut", "--from", file, "--file", `video=${file}`];
    expect(await offload(api.url, args)).toMatchObject({ code: 2 });
  });
});

describe("result", () => {
  test("--out writes the result, without a temporary file at the end", async () => {
    await using api = await start();
    const { code, notes, out } = await offload(api.url, ["result", id, "--out", file]);
    expect({ code, notes, out }).toEqual({ code: 0, notes: `Wrote ${file}.\n`, out: "" });
    expect(readFileSync(file, "utf8")).toBe("bytes");
    expect(readdirSync(folder)).toEqual(["talk.mp4"]);
    expect(api.seen.at(-1)).toMatchObject({ path: "/bucket/result", authorization: undefined });
  });

  test("a file that exists is replaced only with --force", async () => {
    writeFileSync(file, "mine");
    await using api = await start();
    const refused = await offload(api.url, ["result", id, "--out", file]);
    expect(refused).toMatchObject({ code: 1, notes: `offload: ${file} exists; to replace it, add --force\n` });
    expect([api.seen, readFileSync(file, "utf8")]).toEqual([[], "mine"]);
    expect(await offload(api.url, ["result", id, "--out", file, "--force"])).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8")).toBe("bytes");
  });

  test("--out - writes to the standard output", async () => {
    await using api = await start();
    expect(await offload(api.url, ["result", id, "--out", "-"])).toMatchObject({ code: 0, out: "bytes", notes: "" });
  });

  test("without --out JSON is printed", async () => {
    await using api = await start({ status: "completed", result_url: null, result: { a: 1 } });
    expect(await offload(api.url, ["result", id])).toMatchObject({ code: 0, out: '{\n  "a": 1\n}\n' });
  });

  test("a download that breaks leaves no file", async () => {
    await using api = await start(undefined, { text: "by", headers: { "content-length": "5" } });
    const { code, notes } = await offload(api.url, ["result", id, "--out", file]);
    expect([code, notes]).toEqual([1, expect.stringContaining("could not write the result")]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("Ctrl-C stops it, and leaves no file", async () => {
    let interrupt = () => {};
    const onInterrupt = (stop: () => void) => {
      interrupt = stop;
      return () => {};
    };
    await using api = await start(undefined, { text: "by", headers: { "content-length": "50" } });
    const result = offload(api.url, ["result", id, "--out", file], undefined, { onInterrupt, progress: () => {} });
    while (!callsOf(api).includes("GET /bucket/result")) await new Promise((resolve) => setTimeout(resolve, 5));
    interrupt();
    expect([130, 1]).toContain((await result).code);
    expect(existsSync(file)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a task that has not ended has no result yet", async () => {
    await using api = await start({ status: "pending" });
    const { code, notes } = await offload(api.url, ["result", id, "--out", file]);
    expect([code, notes]).toEqual([1, expect.stringContaining("the task is pending")]);
    expect(existsSync(file)).toBe(false);
  });
});

test("acknowledge deletes the result", async () => {
  await using api = await start();
  expect(await offload(api.url, ["acknowledge", id])).toMatchObject({ code: 0, out: "" });
  expect(callsOf(api)).toEqual([`POST /tasks/${id}/acknowledge`]);
  await using refusing = await StubApi.start(() => problem(409, "conflict", "A task that is pending has no result."));
  expect(await offload(refusing.url, ["acknowledge", id])).toMatchObject({ code: 1 });
});
