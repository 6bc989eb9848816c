import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { storeFiles } from "../../../src/core/extras/files/uploads.ts";
import { createGate } from "../../../src/core/limits/gate.ts";
import { type AllLimits, noLimits } from "../../../src/core/limits/limits.ts";
import type { Bytes } from "../../../src/core/ports/blob.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { filePorts } from "../../support/file-ports.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, appsOf, ask, problem, sam } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const form = typeOf((_, task) => task.taskId, {
  name: "form",
  input: z.strictObject({ n: z.int() }),
  files: { video: { required: false, contentTypes: ["text/*"], maxBytes: 100 }, data: { required: false } },
});

/** Id of an upload that another task has taken. */
const takenId = "0f4e7a52-3c1d-4b5e-8a6f-112233445566";

function served(limits: Partial<AllLimits> = {}) {
  const pipeline = memoryPipeline([form]);
  const { clock, log, records, queues } = pipeline;
  const files = filePorts(clock);
  const gate = createGate(
    { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues },
    { ...noLimits, ...limits },
  );
  const { submit } = appsOf({ ...pipeline.ports, ...files, gate });
  /** The keys of the stored objects, and the number of uploads. */
  const stored = () => [files.blobs.keys(), files.uploads.all.size];
  /** An upload that a task of the same tenant has taken. */
  const takenUpload = async (id: string) => {
    const identity = { tenantId: "acme", principal: "olga", role: "operator" } as const;
    const bytes = new TextEncoder().encode("taken");
    const ports = { ...pipeline.ports, ...files, newId: () => id };
    const sent = new Map([["data", { facts: { content_type: "text/plain" }, bytes }]]);
    await storeFiles(ports, { identity, idempotencyKey: undefined }, sent);
    const answer = await ask(submit, "/tasks", { json: { type: "form", input: { n: 1 }, files: { data: id } } });
    expect(answer.status).toBe(202);
  };
  return { ...pipeline, ...files, submit, stored, takenUpload };
}

describe("POST /uploads", () => {
  const json = { content_type: "text/plain", size_bytes: 5 };
  const post = ({ submit }: ReturnType<typeof served>, more: Ask = {}) => ask(submit, "/uploads", { json, ...more });

  test("an upload is answered by 201 with the request that sends the bytes", async () => {
    const app = served();
    const { status, headers, json: view } = await post(app, { as: sam });
    expect([status, headers.get("cache-control")]).toEqual([201, "no-store"]);
    expect(Object.keys(view)).toEqual(["upload_id", "method", "url", "headers", "expires_at"]);
    expect(app.uploads.all.get(String(view.upload_id))).toMatchObject({ tenant_id: "acme", requested_by: "sam" });
  });

  test("a token is needed, and fields are checked", async () => {
    const app = served();
    expect(await post(app, { as: {} })).toMatchObject(problem(401, "unauthenticated"));
    const refused = await post(app, { json: { ...json, size_bytes: -1 } });
    expect(refused).toMatchObject(problem(422, "invalid_input"));
    expect(await post(app, { json: {} })).toMatchObject({
      json: { detail: expect.stringContaining("expected { content_type: string, size_bytes: 0..5368709120") },
    });
  });

  test("an announced upload counts among the tenant's open ones until a task takes it, also when the submit is repeated", async () => {
    const app = served({ default: { open_upload_bytes: 3 * 1024 ** 2 } });
    const announced = [await post(app), await post(app), await post(app)];
    expect(await post(app)).toMatchObject(problem(429, "quota_exceeded"));
    const [first] = announced;
    await app.blobs.put(`acme/uploads/${first?.json.upload_id}`, Buffer.from("hello"), { contentType: "text/plain" });
    const body = { type: "form", input: { n: 1 }, files: { data: first?.json.upload_id } };
    for (const _ of [1, 2, 3]) {
      const taking = { json: body, headers: { "idempotency-key": "key-3" } };
      expect((await ask(app.submit, "/tasks", taking)).status).toBe(202);
    }
    expect((await post(app)).status).toBe(201);
    expect(await post(app)).toMatchObject(problem(429, "quota_exceeded"));
  });

  test("a deployment without a bucket answers 503", async () => {
    const { uploads: _, ...ports } = memoryPipeline().ports;
    const { submit } = appsOf(ports);
    expect((await ask(submit, "/uploads", { json })).status).toBe(503);
  });
});

describe("POST /tasks as multipart/form-data", () => {
  const task = JSON.stringify({ type: "form", input: { n: 1 } });
  const file = (text = "hello", name = "a.txt") => new File([text], name, { type: "text/plain" });
  const formOf = (parts: Record<string, string | File | (string | File)[]>) => {
    const made = new FormData();
    for (const [name, values] of Object.entries(parts)) {
      for (const value of [values].flat()) {
        made.append(name, value as string);
      }
    }
    return made;
  };
  const post = async (app: ReturnType<typeof served>, form: FormData, headers: Record<string, string> = {}) => {
    const request = new Response(form);
    const type = request.headers.get("content-type") ?? "";
    const raw = new Uint8Array(await request.arrayBuffer());
    return ask(app.submit, "/tasks", { raw, headers: { "content-type": type, ...headers } });
  };

  /** A form as a program writes it: each part's headers and content. */
  const postRaw = (app: ReturnType<typeof served>, parts: [headers: string | Buffer, content: string | Buffer][]) => {
    const pieces = parts.flatMap(([headers, content]) => ["--bnd\r\n", headers, "\r\n\r\n", content, "\r\n"]);
    const raw = new Uint8Array(Buffer.concat([...pieces, "--bnd--\r\n"].map((piece) => Buffer.from(piece))));
    return ask(app.submit, "/tasks", { raw, headers: { "content-type": "multipart/form-data; boundary=bnd" } });
  };
  const disposition = (name: string, more = "") => `Content-Disposition: form-data; name="${name}"${more}`;
  const taskOnly: [string, string] = [disposition("task"), task];

  test.each([
    ["as Go's library writes it", 'a\\"b\\\\c.txt', 'a"b\\c.txt'],
    ["as browsers write it", "a%22b\\c.txt", 'a"b\\c.txt'],
    ["with a folder of Windows", "C:\\dir\\b.txt", "C:\\dir\\b.txt"],
    ["with a semicolon", "a; filename=b.txt", "a; filename=b.txt"],
    ["in UTF-8", "ä💥.txt", "ä💥.txt"],
    ["with a percent sign", "100%.txt", "100%.txt"],
    ["with a backslash at its end", "a\\", "a\\"],
    ["with a folder of Windows at its end", "C:\\dir\\", "C:\\dir\\"],
    ["with two backslashes and a quote", 'a\\\\\\"b', 'a\\"b'],
  ])("a file name %s is read", async (_, sent, read) => {
    const app = served();
    const answer = await postRaw(app, [taskOnly, [disposition("data", `; filename="${sent}"`), "x"]]);
    expect(answer.status).toBe(202);
    expect([...app.uploads.all.values()].map(({ file_name }) => file_name)).toEqual([read]);
  });

  test("a file's bytes may contain the boundary's text; only the delimiter ends it", async () => {
    const app = served();
    const content = "bnd --bnd\r\nbnd\r\n-bnd\n--bnd--\n\r\n--bn";
    const answer = await postRaw(app, [taskOnly, [disposition("data", '; filename="a"'), content]]);
    expect(answer.status).toBe(202);
    const [upload] = app.uploads.all.values();
    expect(upload).toMatchObject({ size_bytes: Buffer.byteLength(content) });
  });

  test.each([
    ["a preamble", "This is a form.\r\n\r\nIt has lines.\r\n"],
    ["a bare line end", "\r\n"],
    ["a preamble that has the boundary's text", "--bn, bnd and --bnd\r\n"],
    ["no line end", ""],
  ])("what stands before the first boundary does not count: %s", async (_, preamble) => {
    const app = served();
    const data = `${disposition("data", '; filename="a"')}\r\n\r\none\r\n--bn`;
    const text = `${preamble}--bnd\r\n${disposition("task")}\r\n\r\n${task}\r\n--bnd \r\n${data}\r\n--bnd--\r\nepilogue`;
    const headers = { "content-type": "multipart/form-data; boundary=bnd" };
    expect((await ask(app.submit, "/tasks", { raw: text, headers })).status).toBe(202);
    expect([...app.uploads.all.values()]).toMatchObject([{ size_bytes: 9 }]);
  });

  test.each([
    ["alone, as Python writes it", "filename*=utf-8''%C3%A4%F0%9F%92%A5%20%22.txt", 'ä💥 ".txt'],
    ["with a language", "filename*=UTF-8'de'%C3%A4.txt", "ä.txt"],
    ["before a plain one without its characters", `filename*=UTF-8''%C3%A4.txt; filename="a.txt"`, "ä.txt"],
    ["after a plain one without its characters", `filename="a.txt"; filename*=UTF-8''%C3%A4.txt`, "ä.txt"],
    ["in another charset, beside a plain one", `filename="a.txt"; filename*=iso-8859-1''%E4.txt`, "a.txt"],
    ["that is not UTF-8, beside a plain one", `filename="a.txt"; filename*=UTF-8''%E4.txt`, "a.txt"],
    ["inside a quoted name", `filename="a; filename*=UTF-8''b.txt"`, "a; filename*=UTF-8''b.txt"],
  ])("the name in filename* is read: %s", async (_, parameter, read) => {
    const app = served();
    expect((await postRaw(app, [taskOnly, [disposition("data", `; ${parameter}`), "x"]])).status).toBe(202);
    expect([...app.uploads.all.values()].map(({ file_name }) => file_name)).toEqual([read]);
  });

  test.each(["iso-8859-1''%E4.txt", "UTF-8''%E4.txt", "UTF-8''100%", "a.txt", ""])(
    "a file whose only name is filename*=%s is refused, and stores nothing",
    async (value) => {
      const app = served();
      const answer = await postRaw(app, [taskOnly, [disposition("data", `; filename*=${value}`), "x"]]);
      expect(answer).toMatchObject(problem(422, "invalid_input"));
      expect(answer.json.errors).toMatchObject([{ path: "/files/data", message: expect.stringContaining("UTF-8''") }]);
      expect(app.stored()).toEqual([[], 0]);
    },
  );

  test("a control character in filename* is refused as in every name", async () => {
    const answer = await postRaw(served(), [taskOnly, [disposition("data", "; filename*=UTF-8''a%0Ab"), "x"]]);
    expect(answer).toMatchObject(problem(422, "invalid_input"));
  });

  test("a part's name is its own, not text in its file's name", async () => {
    const app = served();
    const header = 'Content-Disposition: form-data; filename="a; name=\\"video\\"; name=b.txt"; name="data"';
    expect((await postRaw(app, [taskOnly, [header, "x"]])).status).toBe(202);
    expect([...app.uploads.all.values()]).toMatchObject([{ file_name: 'a; name="video"; name=b.txt' }]);
  });

  test.each(["base64", "quoted-printable", "X-Unknown", "BASE64"])(
    "a part in the transfer encoding %s is refused in words, and stores nothing",
    async (encoding) => {
      const app = served();
      const coded = (header: string) => `${header}\r\nContent-Transfer-Encoding: ${encoding}`;
      const file = await postRaw(app, [taskOnly, [coded(disposition("data", '; filename="a"')), "aGVsbG8="]]);
      expect(file).toMatchObject(problem(415, "unsupported_media_type"));
      expect(file.json.detail).toContain(
        `part data has Content-Transfer-Encoding: ${encoding}. Send its bytes as they are`,
      );
      expect(await postRaw(app, [[coded(disposition("task")), task]])).toMatchObject({ status: 415 });
      expect(app.stored()).toEqual([[], 0]);
    },
  );

  test.each(["binary", "8bit", "7bit", "Binary"])(
    "the transfer encoding %s leaves the bytes as they are",
    async (encoding) => {
      const app = served();
      const header = `${disposition("data", '; filename="a"')}\r\nContent-Transfer-Encoding: ${encoding}`;
      expect((await postRaw(app, [taskOnly, [header, "aGVsbG8="]])).status).toBe(202);
      expect([...app.uploads.all.values()]).toMatchObject([{ size_bytes: 8 }]);
    },
  );

  test("a media type keeps its parameters", async () => {
    const app = served();
    const type = 'text/csv; charset="windows-1252"';
    await postRaw(app, [taskOnly, [`${disposition("data", '; filename="a"')}\r\nContent-Type: ${type}`, "x"]]);
    expect([...app.uploads.all.values()]).toMatchObject([{ content_type: type }]);
  });

  test("the empty file of a browser's form is not sent", async () => {
    const app = served();
    const empty = `${disposition("video", '; filename=""')}\r\nContent-Type: application/octet-stream`;
    expect((await postRaw(app, [taskOnly, [empty, ""]])).status).toBe(202);
    expect(app.uploads.all.size).toBe(0);
  });

  test.each<[string, [string | Buffer, string | Buffer][]]>([
    ["a task that is not UTF-8", [[disposition("task"), Buffer.from('{"type":"\xe4"}', "latin1")]]],
    ["a file name in Latin-1", [taskOnly, [Buffer.from(disposition("data", '; filename="\xe4"'), "latin1"), "x"]]],
  ])("%s is malformed, and stores nothing", async (_, parts) => {
    const app = served();
    expect(await postRaw(app, parts)).toMatchObject(problem(400, "malformed_request"));
    expect(app.uploads.all.size).toBe(0);
  });

  test("a number that would change is refused in a form, too", async () => {
    const answer = await postRaw(served(), [
      [disposition("task"), '{"type":"form","input":{"n":1152921504606846976}}'],
    ]);
    expect(answer).toMatchObject({ status: 422, json: { detail: expect.stringContaining("send it as text") } });
  });

  test("each file becomes an upload, and the task names it", async () => {
    const app = served();
    const { status, json } = await post(app, formOf({ task, video: file("hello", "ü.txt") }));
    expect(status).toBe(202);
    expect(app.records.all()).toMatchObject([
      { task_id: json.task_id, files: { video: { file_name: "ü.txt", size_bytes: 5 } } },
    ]);
    expect([...app.uploads.all.values()]).toMatchObject([
      { content_type: "text/plain", file_name: "ü.txt", size_bytes: 5, requested_by: "olga" },
    ]);
    expect(app.blobs.keys()).toHaveLength(1);
  });

  test("the part task may be a file of JSON, and bytes arrive as they are", async () => {
    const app = served();
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const parts = { task: new File([task], "blob", { type: "application/json" }), data: new File([bytes], "data") };
    expect((await post(app, formOf(parts))).status).toBe(202);
    const [upload] = app.uploads.all.values();
    expect(upload?.content_type).toBe("application/octet-stream");
    const stored = await app.blobs.read(upload?.key ?? "");
    expect(await buffer(stored?.bytes as Bytes)).toEqual(Buffer.from(bytes));
  });

  test("a repeat with the same key is the same task, and other bytes are another request", async () => {
    const app = served();
    const key = { "idempotency-key": "key-1" };
    const first = await post(app, formOf({ task, video: file() }), key);
    const second = await post(app, formOf({ task, video: file() }), key);
    expect(second.json.task_id).toBe(first.json.task_id);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(app.uploads.all.size).toBe(1);
    const other = await post(app, formOf({ task, video: file("hallo") }), key);
    expect(other).toMatchObject(problem(422, "idempotency_key_reused"));
  });

  test("a file that the type does not allow is refused", async () => {
    const app = served();
    const answer = await post(app, formOf({ task, video: new File(["{}"], "a", { type: "application/json" }) }));
    expect(answer).toMatchObject(problem(422, "invalid_input"));
    expect(answer.json.errors).toMatchObject([{ path: "/files/video" }]);
    expect(app.stored()).toEqual([[], 0]);
  });

  test.each([
    ["an unknown type", { type: "nope", input: { n: 1 } }],
    ["a wrong input", { type: "form", input: { n: "one" } }],
    ["an unknown field", { type: "form", input: { n: 1 }, colour: "red" }],
    ["a file too large", { type: "form", input: { n: 1 }, files: {} }, "x".repeat(101)],
    ["an upload that another task has taken", { type: "form", input: { n: 1 }, files: { data: takenId } }],
  ])("of a submit that is refused for %s, no file is stored", async (_, body, text = "hello") => {
    const app = served();
    await app.takenUpload(takenId);
    const before = app.stored();
    const answer = await post(app, formOf({ task: JSON.stringify(body), video: file(text) }));
    expect(answer.status).toBe(422);
    expect(app.stored()).toEqual(before);
  });

  test("of a submit that a limit refuses, no file is stored, and its repeat with the same key is accepted", async () => {
    const app = served({ tenants: { acme: { submits_per_second: 0.1, burst: 1 } } });
    const key = { "idempotency-key": "key-2" };
    expect((await post(app, formOf({ task, video: file("first") }))).status).toBe(202);
    const before = app.stored();
    expect(await post(app, formOf({ task, video: file() }), key)).toMatchObject(problem(429, "rate_limited"));
    expect(app.stored()).toEqual(before);
    await app.clock.advance(20_000);
    expect((await post(app, formOf({ task, video: file() }), key)).status).toBe(202);
    expect(app.blobs.keys()).toHaveLength(2);
  });

  test.each([
    ["no part task", formOf({ video: file() }), 400, "malformed_request"],
    ["two parts task", formOf({ task: [task, task] }), 400, "malformed_request"],
    ["a part task that is not JSON", formOf({ task: "{" }), 400, "malformed_request"],
    ["a file twice", formOf({ task, video: [file(), file()] }), 422, "invalid_input"],
    ["a file without a file name", formOf({ task, video: "text" }), 422, "invalid_input"],
    ["a name that no type has", formOf({ task, "a/b": file() }), 422, "invalid_input"],
    ["a file name with a control character", formOf({ task, video: file("", "a\tb") }), 422, "invalid_input"],
    ["files that are not an object", formOf({ task: '{"type":"form","files":[]}' }), 422, "invalid_input"],
    ["over 4 MiB", formOf({ task, video: file("x".repeat(4 * 1024 ** 2)) }), 413, "too_large"],
    ["JSON over 1 MiB", formOf({ task: `"${"x".repeat(1024 ** 2)}"` }), 413, "too_large"],
  ])("a form with %s is refused, and stores nothing", async (_, form, status, code) => {
    const app = served();
    expect(await post(app, form)).toMatchObject(problem(status, code));
    expect([app.blobs.keys(), app.records.all()]).toEqual([[], []]);
  });

  test.each(["multipart/form-data", "multipart/form-data; boundary=other"])(
    "a body that is not %s is refused",
    async (type) => {
      const answer = await ask(served().submit, "/tasks", { raw: "nonsense", headers: { "content-type": type } });
      expect(answer).toMatchObject(problem(400, "malformed_request"));
    },
  );
});
