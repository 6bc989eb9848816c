import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type CallOptions, CallTimeout, ConnectionError, createClient } from "../../src/client/index.ts";
import { accepted, FakeApi, task } from "./fake-api.ts";

/** A request as a server got it. */
interface Seen {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const closing: (() => Promise<unknown>)[] = [];
// Waits before repeats are random: here they are none.
beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  for (const close of closing.splice(0)) await close();
});

/** Starts a server, and keeps its requests. */
async function serve(answer: (...given: [...Parameters<RequestListener>, seen: Seen, index: number]) => void) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const one = { method, path: url, headers, body: Buffer.concat(chunks) };
    answer(request, response, one, seen.push(one) - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const json = { "content-type": "application/json" };

/** An API and its bucket. `statuses` are the bucket's answers, in their order; then it takes the file. */
async function uploadTo(...statuses: (number | "cut")[]) {
  const bucket = await serve((request, response, _, index) => {
    const status = statuses[index] ?? 200;
    if (status === "cut") request.socket.destroy();
    else response.writeHead(status).end();
  });
  const api = await serve((_, response, seen) => {
    const { content_type, size_bytes } = JSON.parse(seen.body.toString());
    const headers = { "content-type": content_type, "content-length": String(size_bytes), "if-none-match": "*" };
    const view = {
      upload_id: "u-1",
      method: "PUT",
      url: `${bucket.url}/key?signature=1`,
      headers,
      expires_at: "later",
    };
    response.writeHead(201, json).end(JSON.stringify(view));
  });
  return { bucket, api, client: createClient({ url: api.url, key: "a-key", maxTries: 3 }) };
}

const bodyOf = ({ body }: Seen) => JSON.parse(body.toString());
const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => index);

describe("an upload", () => {
  test("a File is announced with its name, type and size, and sent to the bucket without the key", async () => {
    const { api, bucket, client } = await uploadTo();
    expect(await client.upload(new File([bytes], "ü.bin", { type: "video/mp4" }))).toBe("u-1");
    expect(api.seen).toMatchObject([{ method: "POST", path: "/uploads", headers: { authorization: "Bearer a-key" } }]);
    expect(bodyOf(api.seen[0] as Seen)).toEqual({ content_type: "video/mp4", file_name: "ü.bin", size_bytes: 200_000 });
    const [sent] = bucket.seen;
    expect(sent).toMatchObject({
      method: "PUT",
      path: "/key?signature=1",
      headers: { "content-type": "video/mp4", "content-length": "200000", "if-none-match": "*" },
    });
    expect(sent?.headers.authorization).toBeUndefined();
    expect(sent?.body.equals(bytes)).toBe(true);
  });

  test.each([
    ["a typed array", bytes.subarray(0, 5), 5],
    ["a buffer", bytes.buffer, 200_000],
    ["nothing", new Uint8Array(), 0],
  ])("%s has the type and name that the caller gives", async (_, source, size_bytes) => {
    const { api, bucket, client } = await uploadTo();
    await client.upload(source, { contentType: "text/plain", fileName: "a.txt", sha256: "0f" });
    expect(bodyOf(api.seen[0] as Seen)).toEqual({
      content_type: "text/plain",
      file_name: "a.txt",
      size_bytes,
      sha256: "0f",
    });
    expect(bucket.seen[0]?.body).toHaveLength(size_bytes);
  });

  test("bytes without a type are octets", async () => {
    const { api, client } = await uploadTo();
    await client.upload(bytes);
    expect(bodyOf(api.seen[0] as Seen).content_type).toBe("application/octet-stream");
  });

  test.each([
    ["a stream of Node", () => Readable.from([bytes.subarray(0, 100_000), bytes.subarray(100_000)])],
    ["a stream of the web", () => new Blob([bytes]).stream()],
  ])("%s is sent with its size, and not in chunks", async (_, make) => {
    const { bucket, client } = await uploadTo();
    const seen: number[] = [];
    const onProgress = ({ bytes, totalBytes }: { bytes: number; totalBytes: number | undefined }) =>
      seen.push(bytes, totalBytes ?? -1);
    await client.upload(make() as AsyncIterable<Uint8Array>, { sizeBytes: 200_000 }, { onProgress });
    const [sent] = bucket.seen;
    expect(sent?.headers["content-length"]).toBe("200000");
    expect(sent?.headers["transfer-encoding"]).toBeUndefined();
    expect(sent?.body.equals(bytes)).toBe(true);
    expect(seen.slice(-2)).toEqual([200_000, 200_000]);
  });

  test("a stream needs its size", async () => {
    const { api, client } = await uploadTo();
    await expect(client.upload(Readable.from([bytes]))).rejects.toThrow("sizeBytes: expected the size of the stream");
    expect(api.seen).toEqual([]);
  });

  test("a Blob with a progress callback is counted to its end", async () => {
    const { bucket, client } = await uploadTo();
    const seen: number[] = [];
    await client.upload(new Blob([bytes]), {}, { onProgress: ({ bytes }) => seen.push(bytes) });
    expect(seen.at(-1)).toBe(200_000);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(bucket.seen[0]?.headers["content-length"]).toBe("200000");
  });

  test("an error that can pass is repeated with the same request", async () => {
    const { api, bucket, client } = await uploadTo("cut", 503);
    expect(await client.upload(bytes)).toBe("u-1");
    expect([api.seen.length, bucket.seen.length]).toEqual([1, 3]);
    expect(bucket.seen.every(({ body }) => body.equals(bytes))).toBe(true);
  });

  test("412 means that an earlier try arrived", async () => {
    const { client } = await uploadTo("cut", 412);
    expect(await client.upload(bytes)).toBe("u-1");
  });

  test.each([
    [[403], "answered 403 to the file", 1],
    [[503, 503, 503], "answered 503 to the file", 3],
    [["cut", "cut", "cut"], "did not take the file", 3],
  ] as const)("the bucket's answers %j are an error", async (statuses, message, tries) => {
    const { bucket, client } = await uploadTo(...statuses);
    const error = await client.upload(bytes).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toContain(message);
    expect(bucket.seen).toHaveLength(tries);
  });

  test("a stream is sent only once", async () => {
    const { bucket, client } = await uploadTo(503);
    await expect(client.upload(Readable.from([bytes]), { sizeBytes: 200_000 })).rejects.toThrow("answered 503");
    expect(bucket.seen).toHaveLength(1);
  });

  test("a signal and a time limit end it", async () => {
    const silent = await serve(() => {});
    const api = await serve((_, response) => {
      const view = { upload_id: "u-1", method: "PUT", url: silent.url, headers: {}, expires_at: "" };
      response.writeHead(201, json).end(JSON.stringify(view));
    });
    const client = createClient({ url: api.url, key: "a-key" });
    const upload = (options: CallOptions) => client.upload(bytes, {}, options);
    await expect(upload({ signal: AbortSignal.abort(new Error("the user left")) })).rejects.toThrow("the user left");
    await expect(upload({ timeoutMs: 200 })).rejects.toBeInstanceOf(CallTimeout);
  });

  test("a page tells the progress of a Blob", async () => {
    const { client } = await uploadTo();
    const requests: object[] = [];
    class PageRequest {
      status = 200;
      upload: { onprogress?: (event: { loaded: number }) => void } = {};
      onload = () => {};
      headers: Record<string, string> = {};
      opened: string[] = [];
      open = (...given: string[]) => (this.opened = given);
      setRequestHeader = (name: string, value: string) => (this.headers[name] = value);
      send = (body: Blob) => {
        requests.push({ opened: this.opened, headers: this.headers, size: body.size });
        this.upload.onprogress?.({ loaded: 3 });
        this.onload();
      };
    }
    vi.stubGlobal("XMLHttpRequest", PageRequest);
    const seen: object[] = [];
    await client.upload(new Blob(["hello"]), {}, { onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([{ bytes: 3, totalBytes: 5 }]);
    expect(requests).toMatchObject([{ opened: ["PUT", expect.stringContaining("/key")], size: 5 }]);
    expect(requests[0]).toHaveProperty("headers", { "content-type": "application/octet-stream", "if-none-match": "*" });
  });
});

test("a submit names its uploads", async () => {
  const api = new FakeApi(accepted());
  await api.client().submit("video.cut", {}, { files: { video: "u-1" } });
  expect(api.seen[0]?.body).toEqual({ type: "video.cut", input: {}, files: { video: "u-1" } });
});

test("acknowledge posts once more after an error that can pass", async () => {
  const api = new FakeApi(
    () => new Response(null, { status: 502 }),
    () => new Response(null, { status: 204 }),
  );
  expect(await api.client().acknowledge("t1")).toBeUndefined();
  expect(api.paths).toEqual(["POST /tasks/t1/acknowledge", "POST /tasks/t1/acknowledge"]);
});

/** An API whose result is in a bucket. */
async function storedIn(
  bucketAnswer: { status?: number; headers?: Record<string, string>; body?: string | Uint8Array },
  ...before: { status: number; headers?: Record<string, string> }[]
) {
  const { status = 200, headers = {}, body = bytes } = bucketAnswer;
  const bucket = await serve((_, response) => response.writeHead(status, headers).end(body));
  const location = `${bucket.url}/result?signature=1`;
  let asked = 0;
  const api = await serve((_, response, { path }) => {
    if (path.endsWith("/result")) {
      const early = before[asked++];
      return response.writeHead(early?.status ?? 303, early?.headers ?? { location }).end();
    }
    const view = { task_id: "t1", type: "a", status: "completed", result: null, result_url: "/tasks/t1/result" };
    response.writeHead(200, json).end(JSON.stringify(view));
  });
  return { api, bucket, client: createClient({ url: api.url, key: "a-key", maxTries: 2 }) };
}

const video = { "content-type": "video/mp4", "content-disposition": 'attachment; filename="a.mp4"' };

describe("a download", () => {
  test("a result in the bucket is read as a stream, without the key", async () => {
    const { api, bucket, client } = await storedIn({ headers: { ...video, "content-length": "200000" } });
    const seen: object[] = [];
    const download = await client.download("t1", { onProgress: (progress) => seen.push(progress) });
    expect(download).toMatchObject({ name: "a.mp4", type: "video/mp4", size: 200_000 });
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
    expect(seen.at(-1)).toEqual({ bytes: 200_000, totalBytes: 200_000 });
    expect(api.seen[0]?.headers.authorization).toBe("Bearer a-key");
    expect(bucket.seen).toHaveLength(1);
    expect(bucket.seen[0]?.headers.authorization).toBeUndefined();
  });

  test("a result in the answer itself is read in the same way", async () => {
    const api = await serve((_, response) => response.writeHead(200, json).end('{"a":1}'));
    const download = await createClient({ url: api.url, key: "a-key" }).download("t1");
    expect(download).toMatchObject({ name: "result", type: "application/json", size: undefined });
    expect(await download.json()).toEqual({ a: 1 });
  });

  test("it waits for the end of the task", async () => {
    const { api, client } = await storedIn({ headers: video }, { status: 202, headers: { "retry-after": "0" } });
    expect(await (await client.download("t1")).blob()).toHaveProperty("size", 200_000);
    expect(api.seen).toHaveLength(2);
  });

  test("a page follows the redirect itself, because it may not read where it leads", async () => {
    const redirects: (string | undefined)[] = [];
    const opaque = Object.defineProperties(new Response(null), {
      type: { value: "opaqueredirect" },
      status: { value: 0 },
    });
    const fetch = async (_: string, { redirect }: RequestInit) => {
      redirects.push(redirect);
      return redirect === "manual" ? opaque : new Response("text", { headers: video });
    };
    const download = await createClient({ url: "https://tasks.test", key: "a-key", fetch }).download("t1");
    expect([await download.text(), download.name, redirects]).toEqual(["text", "a.mp4", ["manual", "follow"]]);
  });

  test("a bucket that refuses is an error, after all tries", async () => {
    const { bucket, client } = await storedIn({ status: 403 });
    await expect(client.download("t1")).rejects.toThrow(/^127\.0\.0\.1:\d+ answered 403 for the result$/);
    expect(bucket.seen).toHaveLength(2);
  });

  test("an abort ends the stream", async () => {
    const bucket = await serve((_, response) => {
      response.writeHead(200, video).write(bytes);
    });
    const api = await serve((_, response) => response.writeHead(303, { location: bucket.url }).end());
    const left = new AbortController();
    const download = await createClient({ url: api.url, key: "a-key" }).download("t1", { signal: left.signal });
    setTimeout(() => left.abort(new Error("the user left")), 50);
    await expect(download.blob()).rejects.toThrow("the user left");
  });
});

describe("result", () => {
  test("large JSON in the bucket is a value", async () => {
    const { bucket, client } = await storedIn({ headers: json, body: '["large"]' });
    expect(await client.result("t1")).toEqual(["large"]);
    expect(bucket.seen[0]?.headers.authorization).toBeUndefined();
  });

  test("a file in the bucket is a File", async () => {
    const { client } = await storedIn({ headers: video });
    expect(await client.result("t1")).toMatchObject({ name: "a.mp4", type: "video/mp4", size: 200_000 });
  });

  test("an encrypted result is a File, which its reader decrypts", async () => {
    const { client } = await storedIn({ headers: { "content-type": "application/jose" }, body: "a.b.c.d.e" });
    const file = (await client.result("t1")) as File;
    expect([file.type, await file.text()]).toEqual(["application/jose", "a.b.c.d.e"]);
  });
});

test("a result in the status answer loads nothing more", async () => {
  expect(await new FakeApi(task("completed", { result: 1 })).client().result("t1")).toBe(1);
});
