import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { bucket, ownS3, type Signing } from "./s3-client.ts";

const path = `/${bucket}/key`;
const mib = 1024 * 1024;
const part = (size: number, letter: string) => Buffer.alloc(size, letter);
const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex");

async function uploads() {
  const own = await ownS3();
  const begin = async (headers: Record<string, string> = {}) => {
    const { body, status } = await own.signed({ method: "POST", path, query: { uploads: "" }, headers });
    expect(status).toBe(200);
    return /<UploadId>(.*)<\/UploadId>/.exec(body)?.[1] ?? "";
  };
  const send = (uploadId: string, number: number | string, body: Uint8Array, more: Partial<Signing> = {}) =>
    own.signed({ method: "PUT", path, query: { partNumber: String(number), uploadId }, body, ...more });
  const complete = (uploadId: string, parts: readonly (readonly [number, string])[], more: Partial<Signing> = {}) => {
    const list = parts.map(([number, etag]) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
    const body = `<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`;
    return own.signed({ method: "POST", path, query: { uploadId }, body, ...more });
  };
  const abort = (uploadId: string) => own.signed({ method: "DELETE", path, query: { uploadId } });
  return { ...own, begin, send, complete, abort };
}

test("parts become one object, which does not exist before", async () => {
  const { begin, send, complete, signed, files } = await uploads();
  const id = await begin({ "content-type": "a/b" });
  const bodies = [part(5 * mib, "a"), part(5 * mib, "b"), part(3, "c")];
  const etags: [number, string][] = [];
  for (const [index, body] of [...bodies.entries()].reverse()) {
    const { headers } = await send(id, index + 1, body);
    etags.unshift([index + 1, String(headers.etag)]);
  }
  expect((await signed({ path })).status).toBe(404);
  const done = await complete(id, etags);
  const etag = `${md5(Buffer.concat(bodies.map((body) => Buffer.from(md5(body), "hex"))))}-3`;
  expect(done.body).toContain(`<ETag>&quot;${etag}&quot;</ETag>`);
  const { headers, body } = await signed({ path });
  expect(headers).toMatchObject({ "content-type": "a/b", "content-length": String(10 * mib + 3), etag: `"${etag}"` });
  expect(body).toBe(Buffer.concat(bodies).toString());
  expect(files()).toHaveLength(3);
});

test("a second completion has the same answer, also when its first answer was lost", async () => {
  const { begin, send, complete } = await uploads();
  const id = await begin();
  const { headers } = await send(id, 1, part(5, "a"));
  const list: [number, string][] = [[1, String(headers.etag)]];
  const first = await complete(id, list, { headers: { "if-none-match": "*" } });
  expect(first.status).toBe(200);
  expect((await complete(id, list, { headers: { "if-none-match": "*" } })).body).toBe(first.body);
});

test("a completion with `If-None-Match: *` does not replace an object", async () => {
  const { begin, send, complete, signed } = await uploads();
  const id = await begin();
  const { headers } = await send(id, 1, part(5, "a"));
  await signed({ method: "PUT", path, body: "first" });
  const condition = { headers: { "if-none-match": "*" } };
  expect(await complete(id, [[1, String(headers.etag)]], condition)).toMatchObject({ code: "PreconditionFailed" });
  expect((await signed({ path })).body).toBe("first");
});

test("a part that is sent again replaces the first, and parts that are not in the list are dropped", async () => {
  const { begin, send, complete, signed, files } = await uploads();
  const id = await begin();
  await send(id, 1, part(5, "a"));
  const { headers } = await send(id, 1, part(5, "b"));
  await send(id, 2, part(5, "c"));
  expect((await complete(id, [[1, String(headers.etag)]])).status).toBe(200);
  expect((await signed({ path })).body).toBe("bbbbb");
  expect(files()).toHaveLength(1);
});

test("wrong lists of parts are refused, and the upload stays open", async () => {
  const { begin, send, complete } = await uploads();
  const id = await begin();
  const one = String((await send(id, 1, part(5 * mib - 1, "a"))).headers.etag);
  const two = String((await send(id, 2, part(5, "b"))).headers.etag);
  const code = async (...parts: [number, string][]) => (await complete(id, parts)).code;
  expect(await code([1, one], [2, two])).toBe("EntityTooSmall");
  expect(await code([2, two], [1, one])).toBe("InvalidPartOrder");
  expect(await code([1, one], [1, one])).toBe("InvalidPartOrder");
  expect(await code([1, two])).toBe("InvalidPart");
  expect(await code([3, two])).toBe("InvalidPart");
  expect(await code()).toBe("MalformedXML");
  expect(await code([0, one])).toBe("MalformedXML");
  expect((await complete(id, [], { body: "<CompleteMultipartUpload><Part>" })).code).toBe("MalformedXML");
  expect((await complete(id, [[1, one]])).status).toBe(200);
});

test.each([0, 10_001, "x", "1.5"])("the part number %s is refused", async (number) => {
  const { begin, send } = await uploads();
  expect(await send(await begin(), number, part(1, "a"))).toMatchObject({ status: 400, code: "InvalidArgument" });
});

test("an upload that was aborted, or never begun, or is of another key takes no part", async () => {
  const { begin, send, complete, abort, files } = await uploads();
  const id = await begin();
  await send(id, 1, part(5, "a"));
  const other = { path: `/${bucket}/other` };
  expect(await send(id, 1, part(5, "a"), other)).toMatchObject({ status: 404, code: "NoSuchUpload" });
  expect((await abort(id)).status).toBe(204);
  expect(files()).toEqual([]);
  expect(await abort(id)).toMatchObject({ code: "NoSuchUpload" });
  expect(await send(id, 1, part(5, "a"))).toMatchObject({ code: "NoSuchUpload" });
  expect(await complete(id, [[1, '"a"']])).toMatchObject({ code: "NoSuchUpload" });
  expect(await send("../../x", 1, part(5, "a"))).toMatchObject({ code: "NoSuchUpload" });
  expect(files()).toEqual([]);
});

test("a part with a wrong checksum is refused, and a completion with another checksum too", async () => {
  const { begin, send, complete, files } = await uploads();
  const id = await begin({ "x-amz-checksum-algorithm": "SHA256" });
  const checksum = (text: string) => createHash("sha256").update(text).digest();
  const headers = (text: string) => ({ headers: { "x-amz-checksum-sha256": checksum(text).toString("base64") } });
  expect(await send(id, 1, part(1, "a"), headers("b"))).toMatchObject({ status: 400, code: "BadDigest" });
  expect(files()).toEqual([]);
  const { etag } = (await send(id, 1, part(1, "a"), headers("a"))).headers;
  const list = (value: string) =>
    `<CompleteMultipartUpload><Part><ETag>${etag}</ETag><PartNumber>1</PartNumber><ChecksumSHA256>${value}</ChecksumSHA256></Part></CompleteMultipartUpload>`;
  const wrong = await complete(id, [], { body: list(checksum("b").toString("base64")) });
  expect(wrong.code).toBe("InvalidPart");
  const right = await complete(id, [], { body: list(checksum("a").toString("base64")) });
  const composite = createHash("sha256").update(checksum("a")).digest("base64");
  expect(right.body).toContain(`<ChecksumSHA256>${composite}-1</ChecksumSHA256>`);
});
