import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { bucket, openRequest, ownS3 } from "./s3-client.ts";

const path = `/${bucket}/key`;
const hash = (algorithm: string, text: string) => createHash(algorithm).update(text).digest("base64");
const crc = (text: string) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString("base64");
};

const put = (headers: Record<string, string> = {}, body = "hello") => ({ method: "PUT", path, headers, body });

test("the error of a request is XML like S3's", async () => {
  const { signed } = await ownS3();
  const { body, headers } = await signed({ path: `/${bucket}/a%26b%3C` });
  expect(headers["content-type"]).toBe("application/xml");
  expect(body).toMatch(
    /^<\?xml version="1.0" encoding="UTF-8"\?>\n<Error><Code>NoSuchKey<\/Code><Message>[^<]+<\/Message><Key>a&amp;b&lt;<\/Key><RequestId>[0-9a-f-]+<\/RequestId><HostId>local<\/HostId><\/Error>$/,
  );
});

test.each([
  ["PUT", "/other/key", 404, "NoSuchBucket"],
  ["GET", "/other/key", 404, "NoSuchBucket"],
  ["GET", `/${bucket}/`, 501, "NotImplemented"],
  ["GET", `/${bucket}`, 501, "NotImplemented"],
  ["PUT", `/${bucket}/${"k".repeat(1025)}`, 400, "KeyTooLongError"],
  ["PUT", `/${bucket}/${"%C3%A4".repeat(513)}`, 400, "KeyTooLongError"],
  ["PUT", `/${bucket}/%FF`, 400, "InvalidURI"],
])("%s %.20s is answered with %d %s", async (method, target, status, code) => {
  const { signed } = await ownS3();
  expect(await signed({ method, path: target })).toMatchObject({ status, code });
});

test("a request for something that this server does not have is refused, and not answered wrongly", async () => {
  const { signed } = await ownS3();
  await signed(put());
  for (const query of [{ tagging: "" }, { acl: "" }, { partNumber: "1" }, { versionId: "1" }, { "list-type": "2" }]) {
    expect(await signed({ path, query: query as never })).toMatchObject({ status: 501 });
    expect(await signed({ ...put(), query: query as never })).toMatchObject({ status: 501 });
  }
  for (const headers of [{ "x-amz-copy-source": "a/b" }, { "x-amz-tagging": "a=b" }, { "if-match": '"a"' }]) {
    expect(await signed(put(headers as never))).toMatchObject({ status: 501 });
  }
  expect(await signed({ path })).toMatchObject({ status: 200, body: "hello" });
});

test("a PUT without a length is refused", async () => {
  const { signed } = await ownS3();
  expect(await signed(put({ "transfer-encoding": "chunked" }))).toMatchObject({
    status: 411,
    code: "MissingContentLength",
  });
});

test("a PUT of more than 5 GiB is refused before its body", async () => {
  const { sign, server } = await ownS3();
  const { headers = {} } = await sign({
    ...put({ "content-length": String(5 * 1024 ** 3 + 1) }),
    payload: "UNSIGNED-PAYLOAD",
  });
  const sent = openRequest(server.url, { method: "PUT", path, headers });
  const status = await new Promise((resolve, reject) => {
    sent.on("response", ({ statusCode }) => resolve(statusCode)).on("error", reject);
    sent.write("x");
  });
  sent.destroy();
  expect(status).toBe(400);
});

test.each([
  ["content-md5", hash("md5", "hello"), 200, undefined],
  ["content-md5", hash("md5", "jello"), 400, "BadDigest"],
  ["content-md5", "short", 400, "InvalidDigest"],
  ["x-amz-checksum-sha256", hash("sha256", "hello"), 200, undefined],
  ["x-amz-checksum-sha256", hash("sha256", "jello"), 400, "BadDigest"],
  ["x-amz-checksum-sha256", "not a checksum", 400, "InvalidRequest"],
  ["x-amz-checksum-sha1", hash("sha1", "hello"), 200, undefined],
  ["x-amz-checksum-sha1", hash("sha1", "jello"), 400, "BadDigest"],
  ["x-amz-checksum-crc32", crc("hello"), 200, undefined],
  ["x-amz-checksum-crc32", crc("jello"), 400, "BadDigest"],
  ["x-amz-checksum-crc64nvme", "AAAAAAAAAAA=", 501, "NotImplemented"],
])("a PUT with %s: %s is answered with %d", async (name, value, status, code) => {
  const { signed, files } = await ownS3();
  const answer = await signed(put({ [name]: value }));
  expect(answer).toMatchObject({ status, code });
  expect(files()).toHaveLength(status === 200 ? 1 : 0);
});

test("a checksum is answered to readers who ask for it, for the whole object only", async () => {
  const { signed } = await ownS3();
  const value = hash("sha256", "hello");
  expect((await signed(put({ "x-amz-checksum-sha256": value }))).headers["x-amz-checksum-sha256"]).toBe(value);
  const ask = { "x-amz-checksum-mode": "ENABLED" };
  const head = await signed({ method: "HEAD", path, headers: ask });
  expect(head.headers).toMatchObject({ "x-amz-checksum-sha256": value, "x-amz-checksum-type": "FULL_OBJECT" });
  const others = [await signed({ path }), await signed({ path, headers: { ...ask, range: "bytes=0-1" } })];
  for (const { headers } of others) expect(headers["x-amz-checksum-sha256"]).toBeUndefined();
});

test("an object keeps its headers, and `aws-chunked` is not one of them", async () => {
  const { signed } = await ownS3();
  const headers = {
    "content-type": "a/b",
    "cache-control": "no-store",
    "x-amz-meta-name": "value",
    "content-encoding": "gzip",
  };
  await signed(put({ ...headers, "content-disposition": "inline" }));
  expect((await signed({ path })).headers).toMatchObject({
    ...headers,
    "content-disposition": "inline",
    "accept-ranges": "bytes",
  });
});

test("a second PUT with `If-None-Match: *` is refused, and only that condition is supported", async () => {
  const { signed, files } = await ownS3();
  const absent = { "if-none-match": "*" };
  expect((await signed(put(absent))).status).toBe(200);
  expect(await signed(put(absent, "other"))).toMatchObject({ status: 412, code: "PreconditionFailed" });
  expect(await signed(put({ "if-none-match": '"tag"' }))).toMatchObject({ status: 501 });
  expect((await signed({ path })).body).toBe("hello");
  expect(files()).toHaveLength(1);
});

test("of two PUTs at the same time with `If-None-Match: *`, the second to end is refused", async () => {
  const { sign, signed, send, server, files } = await ownS3();
  const slow = await sign({ ...put({ "if-none-match": "*", "content-length": "10" }), payload: "UNSIGNED-PAYLOAD" });
  const sent = openRequest(server.url, slow);
  const status = new Promise((resolve) => sent.on("response", ({ statusCode }) => resolve(statusCode)));
  sent.write("first");
  await vi.waitFor(() => expect(files()).toHaveLength(1), { timeout: 300_000 });
  expect((await send(await sign(put({ "if-none-match": "*" })))).status).toBe(200);
  sent.end("later");
  expect(await status).toBe(412);
  expect((await signed({ path })).body).toBe("hello");
  expect(files()).toHaveLength(1);
});

test("an upload that the client cuts leaves nothing, and the object before it stays", async () => {
  const { sign, signed, server, files } = await ownS3();
  await signed(put());
  const cut = await sign({ ...put({ "content-length": "1000000" }), payload: "UNSIGNED-PAYLOAD" });
  const sent = openRequest(server.url, cut).on("error", () => {});
  sent.write(Buffer.alloc(100_000));
  await vi.waitFor(() => expect(files()).toHaveLength(2), { timeout: 300_000 });
  sent.destroy();
  await vi.waitFor(() => expect(files()).toHaveLength(1), { timeout: 300_000 });
  expect((await signed({ path })).body).toBe("hello");
});

test("a replaced object is read to its end by those who began before", async () => {
  const { sign, signed, server, files } = await ownS3();
  const long = "a".repeat(20_000_000);
  await signed(put({}, long));
  const sent = openRequest(server.url, await sign({ path }));
  const read = new Promise<number>((resolve, reject) => {
    sent.on("error", reject).on("response", async (answer) => {
      let bytes = 0;
      await sleep(100);
      for await (const piece of answer) bytes += piece.length;
      resolve(bytes);
    });
  });
  sent.end();
  await sleep(50);
  await signed(put());
  expect(await read).toBe(long.length);
  await vi.waitFor(() => expect(files()).toHaveLength(1), { timeout: 300_000 });
});

describe("a body in chunks", () => {
  const streaming = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
  const chunked = (body: string, length: number, more: Record<string, string> = {}) => ({
    ...put({ "content-encoding": "aws-chunked", "x-amz-decoded-content-length": String(length), ...more }, body),
    payload: streaming,
  });
  const trailer = { "x-amz-trailer": "x-amz-checksum-crc32" };
  const right = `5\r\nhello\r\n0\r\nx-amz-checksum-crc32:${crc("hello")}\r\n\r\n`;

  test("chunks with a right checksum after them are stored without the framing", async () => {
    const { signed } = await ownS3();
    expect(await signed(chunked(right, 5, trailer))).toMatchObject({ status: 200 });
    const { body, headers } = await signed({ path, headers: { "x-amz-checksum-mode": "ENABLED" } });
    expect(body).toBe("hello");
    expect(headers).toMatchObject({ "content-length": "5", "x-amz-checksum-crc32": crc("hello") });
    expect(headers["content-encoding"]).toBeUndefined();
  });

  test("chunks of any size, in any pieces, make the body", async () => {
    const { sign, signed, server } = await ownS3();
    const texts = ["a", "bc", "d".repeat(70_000), "\r\n0\r\n\r\n", "e"];
    const body = `${texts.map((text) => `${text.length.toString(16).toUpperCase()};x=y\r\n${text}\r\n`).join("")}0\r\n\r\n`;
    const request = await sign(chunked(body, texts.join("").length));
    const sent = openRequest(server.url, {
      ...request,
      headers: { ...request.headers, "transfer-encoding": "chunked" },
    });
    const status = new Promise((resolve) => sent.on("response", ({ statusCode }) => resolve(statusCode)));
    for (const [index, piece] of (body.match(/[\s\S]{1,9973}/g) ?? []).entries()) {
      sent.write(piece.slice(0, 3));
      if (index < 3) await sleep(2);
      sent.write(piece.slice(3));
    }
    sent.end();
    expect(await status).toBe(200);
    expect((await signed({ path })).body).toBe(texts.join(""));
  });

  test.each([
    ["a wrong checksum after them", right.replace(/32:.*/, `32:${crc("jello")}`), 5, trailer, "BadDigest"],
    ["a checksum that is not one", right.replace(/32:.*/, "32:zz"), 5, trailer, "InvalidRequest"],
    ["no checksum, though one is announced", "5\r\nhello\r\n0\r\n\r\n", 5, trailer, "MalformedTrailerError"],
    ["a trailer without a colon", "5\r\nhello\r\n0\r\nx\r\n\r\n", 5, trailer, "MalformedTrailerError"],
    ["fewer bytes than announced", right, 6, trailer, "IncompleteBody"],
    ["more bytes than announced", right, 4, trailer, "IncompleteBody"],
    ["a chunk that is cut", "5\r\nhel", 5, {}, "IncompleteBody"],
    ["no last chunk", "5\r\nhello\r\n", 5, {}, "IncompleteBody"],
    ["a size that is not one", "z\r\nhello\r\n0\r\n\r\n", 5, {}, "IncompleteBody"],
    ["a chunk longer than its size", "4\r\nhello\r\n0\r\n\r\n", 5, {}, "IncompleteBody"],
    ["an endless line", "5".repeat(10_000), 5, {}, "IncompleteBody"],
  ])("chunks with %s are refused, and nothing is stored", async (_, body, length, more, code) => {
    const { signed, files } = await ownS3();
    expect(await signed(chunked(body, length, more as Record<string, string>))).toMatchObject({ status: 400, code });
    expect((await signed({ path })).status).toBe(404);
    expect(files()).toEqual([]);
  });

  test("chunks without the length of the body, and signed chunks, are refused", async () => {
    const { signed } = await ownS3();
    const { headers, ...request } = chunked(right, 5, trailer);
    const { "x-amz-decoded-content-length": _, ...rest } = headers;
    expect(await signed({ ...request, headers: rest })).toMatchObject({ status: 411, code: "MissingContentLength" });
    const payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
    expect(await signed({ ...chunked(right, 5), payload })).toMatchObject({ status: 501 });
  });
});
