import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BlobContent, Blobs, Bytes, PresignedUpload } from "../../src/core/ports/blob.ts";

/** The parts of an answer to a client that tests look at. */
export interface ClientAnswer {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** What a test needs of an implementation of `Blobs`. */
export interface BlobsUnderTest {
  blobs: Blobs;
  /** Sends a request to a presigned URL, as a client without credentials does. */
  send(method: "GET" | "PUT", url: string, headers?: Record<string, string>, body?: Uint8Array): Promise<ClientAnswer>;
  /** Moves the store's time. */
  elapse(seconds: number): Promise<void>;
  close(): Promise<void>;
}

const mib = 1024 * 1024;
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Bytes that differ from place to place, so that a swapped part shows. */
function bytesOf(size: number, seed = 1): Uint8Array {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((at * 2_654_435_761 + seed) >>> 0, at);
  return bytes;
}

async function* inPieces(bytes: Uint8Array, pieceBytes: number): Bytes & AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}

async function allOf(content: BlobContent | undefined): Promise<Buffer> {
  if (content === undefined) throw new Error("there is no object");
  const pieces: Uint8Array[] = [];
  for await (const piece of content.bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The promises of objects, for every implementation. */
export function describeBlobs(name: string, make: () => Promise<BlobsUnderTest>): void {
  describe(name, () => {
    let under: BlobsUnderTest;
    let blobs: Blobs;
    beforeAll(async () => {
      under = await make();
      blobs = under.blobs;
    });
    afterAll(() => under.close());

    const freshKey = (end = "") => `tenant/task-${randomUUID()}/${end}`;

    test("bytes that were put are read, with their type, size and checksum", async () => {
      const key = freshKey("a");
      const bytes = bytesOf(100_003);
      const stored = { state: "stored", sizeBytes: bytes.length, sha256: sha256(bytes) };
      expect(await blobs.put(key, bytes, { contentType: "image/png" })).toEqual(stored);
      const facts = { sizeBytes: bytes.length, contentType: "image/png" };
      expect(await blobs.head(key)).toEqual({ ...facts, sha256: sha256(bytes) });
      const content = await blobs.read(key);
      expect(content).toMatchObject(facts);
      expect((await allOf(content)).equals(bytes)).toBe(true);
    });

    test("an object without bytes and without a given type is stored", async () => {
      const key = freshKey();
      expect(await blobs.put(key, new Uint8Array())).toMatchObject({ state: "stored", sizeBytes: 0 });
      expect(await blobs.head(key)).toMatchObject({ sizeBytes: 0, contentType: "application/octet-stream" });
      expect(await allOf(await blobs.read(key))).toHaveLength(0);
    });

    test.each([
      ["no bytes", 0, 1],
      ["a few bytes", 1000, 7],
      ["exactly the size of a part", 5 * mib, 64 * 1024],
      ["one byte more than a part", 5 * mib + 1, 64 * 1024],
      ["several parts", 13 * mib + 5, 100_001],
      ["pieces larger than a part", 18 * mib, 7 * mib],
    ])("a stream of %s is stored", { timeout: 30_000 }, async (_, size, pieceBytes) => {
      const key = freshKey();
      const bytes = bytesOf(size);
      const result = await blobs.put(key, inPieces(bytes, pieceBytes), { contentType: "text/plain" });
      expect(result).toEqual({ state: "stored", sizeBytes: size, sha256: sha256(bytes) });
      expect(await blobs.head(key)).toMatchObject({ sizeBytes: size, contentType: "text/plain" });
      expect((await allOf(await blobs.read(key))).equals(bytes)).toBe(true);
    });

    test("a put replaces an object", async () => {
      const key = freshKey();
      await blobs.put(key, bytesOf(10, 1));
      await blobs.put(key, bytesOf(20, 2));
      expect((await allOf(await blobs.read(key))).equals(bytesOf(20, 2))).toBe(true);
    });

    test.each([
      ["bytes", (bytes: Uint8Array) => bytes],
      ["a stream", (bytes: Uint8Array) => inPieces(bytes, 100)],
      ["a stream of several parts", () => inPieces(bytesOf(6 * mib), mib)],
    ])("a put of %s that is only for an absent object changes no object", async (_, bodyOf) => {
      const key = freshKey();
      const first = bytesOf(1000, 1);
      expect(await blobs.put(key, first, { onlyIfAbsent: true })).toMatchObject({ state: "stored" });
      expect(await blobs.put(key, bodyOf(bytesOf(1000, 2)), { onlyIfAbsent: true })).toEqual({ state: "exists" });
      expect((await allOf(await blobs.read(key))).equals(first)).toBe(true);
    });

    test("of many puts at the same time that are only for an absent object, one is stored", async () => {
      const key = freshKey();
      const puts = Array.from({ length: 8 }, (_, index) => blobs.put(key, bytesOf(100, index), { onlyIfAbsent: true }));
      const states = (await Promise.all(puts)).map(({ state }) => state);
      expect(states.filter((state) => state === "stored")).toHaveLength(1);
    });

    test("an object that does not exist is neither read nor found, and can be deleted", async () => {
      const key = freshKey();
      expect(await blobs.read(key)).toBeUndefined();
      expect(await blobs.read(key, { start: 0, end: 1 })).toBeUndefined();
      expect(await blobs.head(key)).toBeUndefined();
      await blobs.delete(key);
    });

    test("a deleted object is gone, and can be deleted again", async () => {
      const key = freshKey();
      await blobs.put(key, bytesOf(10));
      await blobs.delete(key);
      await blobs.delete(key);
      expect(await blobs.head(key)).toBeUndefined();
      expect(await blobs.put(key, bytesOf(10), { onlyIfAbsent: true })).toMatchObject({ state: "stored" });
    });

    test.each([
      [{ start: 0, end: 0 }, 0, 1],
      [{ start: 10, end: 19 }, 10, 20],
      [{ start: 990 }, 990, 1000],
      [{ start: 990, end: 5000 }, 990, 1000],
      [{ start: 0 }, 0, 1000],
    ])("the range %j is read", async (range, from, to) => {
      const key = freshKey();
      const bytes = bytesOf(1000);
      await blobs.put(key, bytes);
      const content = await blobs.read(key, range);
      expect(content?.sizeBytes).toBe(1000);
      expect((await allOf(content)).equals(bytes.subarray(from, to))).toBe(true);
    });

    test.each([[{ start: 1000 }], [{ start: 1000, end: 1001 }], [{ start: 5, end: 4 }]])(
      "the range %j without bytes is not found",
      async (range) => {
        const key = freshKey();
        await blobs.put(key, bytesOf(1000));
        expect(await blobs.read(key, range)).toBeUndefined();
      },
    );

    test("a range over the border of two parts is read", async () => {
      const key = freshKey();
      const bytes = bytesOf(11 * mib);
      await blobs.put(key, inPieces(bytes, mib));
      const content = await blobs.read(key, { start: 5 * mib - 10, end: 10 * mib + 9 });
      expect((await allOf(content)).equals(bytes.subarray(5 * mib - 10, 10 * mib + 10))).toBe(true);
    });

    test("a reader may stop before the end", async () => {
      const key = freshKey();
      await blobs.put(key, bytesOf(3 * mib));
      const content = await blobs.read(key);
      for await (const piece of content?.bytes ?? []) {
        expect(piece.length).toBeGreaterThan(0);
        break;
      }
      expect(await blobs.head(key)).toMatchObject({ sizeBytes: 3 * mib });
    });

    test.each([
      "a b+c&d=e?f#g%h",
      "ä/日本/🎈",
      "../../etc/passwd",
      "./a//b/",
      "a'b\"c(d)!*~",
      "\\windows\\path:*|<>",
      "line\nbreak\ttab",
    ])("the key that ends with %j is stored", async (end) => {
      const [key, other] = [freshKey(end), freshKey(end)];
      await blobs.put(key, bytesOf(11));
      expect(await blobs.head(key)).toMatchObject({ sizeBytes: 11 });
      expect(await blobs.head(other)).toBeUndefined();
      await blobs.delete(key);
      expect(await blobs.head(key)).toBeUndefined();
    });

    test("a key of 1024 bytes is stored", async () => {
      const key = freshKey().padEnd(1024, "k");
      await blobs.put(key, bytesOf(11));
      expect(await blobs.head(key)).toMatchObject({ sizeBytes: 11 });
    });

    describe("a put of a stream that does not end well", () => {
      test.each([100, 12 * mib])("the stream's error after %d bytes is thrown, and nothing is stored", async (size) => {
        const key = freshKey();
        const fault = Object.assign(new Error("the source broke"), { code: "ECONNRESET" });
        async function* broken() {
          yield* inPieces(bytesOf(size), mib);
          throw fault;
        }
        await expect(blobs.put(key, broken())).rejects.toBe(fault);
        expect(await blobs.head(key)).toBeUndefined();
      });

      test("an abort ends a put whose stream gives nothing", async () => {
        const key = freshKey();
        const abort = new AbortController();
        async function* stuck() {
          yield* inPieces(bytesOf(6 * mib), mib);
          setTimeout(() => abort.abort(new Error("enough")), 20);
          await new Promise(() => {});
        }
        await expect(blobs.put(key, stuck(), { signal: abort.signal })).rejects.toThrow("enough");
        expect(await blobs.head(key)).toBeUndefined();
      });

      test("a put with an aborted signal stores nothing", async () => {
        const key = freshKey();
        const signal = AbortSignal.abort(new Error("too late"));
        await expect(blobs.put(key, bytesOf(5), { signal })).rejects.toThrow("too late");
        await expect(blobs.put(key, inPieces(bytesOf(5), 1), { signal })).rejects.toThrow("too late");
        expect(await blobs.head(key)).toBeUndefined();
      });
    });

    describe("a presigned upload", () => {
      const body = bytesOf(1000);
      const right = { expiresSeconds: 60, sizeBytes: body.length, contentType: "image/png", sha256: sha256(body) };
      const upload = ({ url, headers }: PresignedUpload, bytes = body, other: Record<string, string> = {}) =>
        under.send("PUT", url, { ...headers, ...other }, bytes);

      test("the upload is stored with its type and checksum", async () => {
        const key = freshKey("ä b.png");
        const presigned = await blobs.presignPut(key, right);
        expect(presigned).toMatchObject({ method: "PUT", headers: { "content-length": "1000", "if-none-match": "*" } });
        expect((await upload(presigned)).status).toBe(200);
        expect(await blobs.head(key)).toEqual({ sizeBytes: 1000, contentType: "image/png", sha256: right.sha256 });
      });

      test("an upload without a declared checksum takes any bytes of the size", async () => {
        const key = freshKey();
        const { sha256: _, ...ticket } = right;
        expect((await upload(await blobs.presignPut(key, ticket), bytesOf(1000, 9))).status).toBe(200);
        expect(await blobs.head(key)).toMatchObject({ sizeBytes: 1000 });
      });

      test("a second upload is refused, and so is one to a key that has an object", async () => {
        const key = freshKey();
        const { sha256: _, ...ticket } = right;
        const presigned = await blobs.presignPut(key, ticket);
        expect((await upload(presigned)).status).toBe(200);
        expect((await upload(presigned, bytesOf(1000, 7))).status).toBe(412);
        expect((await upload(await blobs.presignPut(key, ticket))).status).toBe(412);
        expect((await allOf(await blobs.read(key))).equals(body)).toBe(true);
      });

      test.each<[string, Uint8Array, Record<string, string>, number]>([
        ["another checksum", bytesOf(1000, 2), {}, 400],
        ["fewer bytes", bytesOf(999), { "content-length": "999" }, 403],
        ["more bytes", bytesOf(1001), { "content-length": "1001" }, 403],
        ["another type", body, { "content-type": "text/html" }, 403],
        ["another declared checksum", body, { "x-amz-checksum-sha256": Buffer.alloc(32).toString("base64") }, 403],
        ["another condition", body, { "if-none-match": '"etag"' }, 403],
      ])("an upload with %s is refused", async (_, bytes, headers, status) => {
        const key = freshKey();
        expect((await upload(await blobs.presignPut(key, right), bytes, headers)).status).toBe(status);
        expect(await blobs.head(key)).toBeUndefined();
      });

      test.each(["content-type", "if-none-match", "x-amz-checksum-sha256"])(
        "an upload without the header %s is refused",
        async (name) => {
          const key = freshKey();
          const { url, headers } = await blobs.presignPut(key, right);
          const { [name]: _, ...rest } = headers;
          expect((await under.send("PUT", url, rest, body)).status).toBe(403);
          expect(await blobs.head(key)).toBeUndefined();
        },
      );

      test("an upload with no bytes is stored", async () => {
        const key = freshKey();
        const ticket = { ...right, sizeBytes: 0, sha256: sha256(new Uint8Array()) };
        expect((await upload(await blobs.presignPut(key, ticket), new Uint8Array())).status).toBe(200);
        expect(await blobs.head(key)).toMatchObject({ sizeBytes: 0 });
      });
    });

    describe("a presigned download", () => {
      test("the download has the object's bytes and type, as often as it is asked for", async () => {
        const key = freshKey();
        const bytes = bytesOf(5000);
        await blobs.put(key, bytes, { contentType: "text/css" });
        const url = await blobs.presignGet(key, { expiresSeconds: 60 });
        for (const _ of [1, 2]) {
          const answer = await under.send("GET", url);
          expect(answer).toMatchObject({ status: 200, headers: { "content-type": "text/css" } });
          expect(answer.headers["content-disposition"]).toBeUndefined();
          expect(Buffer.from(answer.body).equals(bytes)).toBe(true);
        }
      });

      test("the download has the type and the file name of its grant", async () => {
        const key = freshKey();
        await blobs.put(key, bytesOf(5), { contentType: "text/css" });
        const ticket = { expiresSeconds: 60, contentType: "application/pdf", fileName: 'Übersicht "2027".pdf' };
        const attached = await under.send("GET", await blobs.presignGet(key, ticket));
        expect(attached.headers).toMatchObject({
          "content-type": "application/pdf",
          "content-disposition":
            "attachment; filename=\"_bersicht _2027_.pdf\"; filename*=UTF-8''%C3%9Cbersicht%20%222027%22.pdf",
        });
        const inline = await under.send("GET", await blobs.presignGet(key, { ...ticket, inline: true }));
        expect(inline.headers["content-disposition"]).toMatch(/^inline; /);
      });

      test("an object that does not exist is answered with 404", async () => {
        const url = await blobs.presignGet(freshKey(), { expiresSeconds: 60 });
        expect((await under.send("GET", url)).status).toBe(404);
      });

      test("a URL of an upload downloads nothing, and a URL of a download takes nothing", async () => {
        const key = freshKey();
        await blobs.put(key, bytesOf(5));
        const download = await blobs.presignGet(key, { expiresSeconds: 60 });
        expect((await under.send("PUT", download, {}, bytesOf(5, 2))).status).toBe(403);
        const { url } = await blobs.presignPut(key, { expiresSeconds: 60, sizeBytes: 5, contentType: "a/b" });
        expect((await under.send("GET", url)).status).toBe(403);
        expect((await allOf(await blobs.read(key))).equals(bytesOf(5))).toBe(true);
      });
    });

    // Last, as it moves the time for all.
    test("presigned requests end with their expiry", async () => {
      const [stored, absent] = [freshKey(), freshKey()];
      await blobs.put(stored, bytesOf(5));
      // Requests are signed at the machine's time, which goes on from where the clock that the test moves stands.
      const expiresSeconds = 3600;
      const url = await blobs.presignGet(stored, { expiresSeconds });
      const put = await blobs.presignPut(absent, { expiresSeconds, sizeBytes: 5, contentType: "a/b" });
      await under.elapse(1800);
      expect((await under.send("GET", url)).status).toBe(200);
      await under.elapse(3600);
      expect((await under.send("GET", url)).status).toBe(403);
      expect((await under.send("PUT", put.url, put.headers, bytesOf(5))).status).toBe(403);
      expect(await blobs.head(absent)).toBeUndefined();
    });
  });
}
