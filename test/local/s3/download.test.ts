import { expect, test } from "vitest";
import { parseRange } from "../../../src/local/s3/byte-range.ts";
import { bucket, ownS3 } from "./s3-client.ts";

const path = `/${bucket}/key`;
const put = { method: "PUT", path, body: "0123456789" };

test.each([
  ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
  ["bytes=4-4", 206, "4", "bytes 4-4/10"],
  ["bytes=4-", 206, "456789", "bytes 4-9/10"],
  ["bytes=8-100", 206, "89", "bytes 8-9/10"],
  ["bytes=-3", 206, "789", "bytes 7-9/10"],
  ["bytes=-100", 206, "0123456789", "bytes 0-9/10"],
  ["bytes=10-", 416, "InvalidRange", undefined],
  ["bytes=10-11", 416, "InvalidRange", undefined],
  ["bytes=-0", 416, "InvalidRange", undefined],
  ["bytes=3-2", 200, "0123456789", undefined],
  ["bytes=0-1,4-5", 200, "0123456789", undefined],
  ["bytes=a-b", 200, "0123456789", undefined],
  ["bytes=-", 200, "0123456789", undefined],
  ["lines=0-1", 200, "0123456789", undefined],
])("Range: %s is answered with %d", async (range, status, text, contentRange) => {
  const { signed } = await ownS3();
  await signed(put);
  const answer = await signed({ path, headers: { range } });
  expect(answer.status).toBe(status);
  if (status === 416) expect(answer.code).toBe(text);
  else expect(answer.body).toBe(text);
  expect(answer.headers["content-range"]).toBe(contentRange);
  if (status !== 416) expect(answer.headers["content-length"]).toBe(String(text.length));
});

test("an object without bytes has no ranges", () => {
  expect(() => parseRange("bytes=0-", 0)).toThrow("not satisfiable");
  expect(parseRange(undefined, 0)).toBeUndefined();
});

test("conditions of GET and HEAD compare the ETag", async () => {
  const { signed } = await ownS3();
  const { etag = "" } = (await signed(put)).headers;
  for (const method of ["GET", "HEAD"]) {
    const status = async (headers: Record<string, string>) => (await signed({ method, path, headers })).status;
    expect(await status({ "if-match": etag })).toBe(200);
    expect(await status({ "if-match": `"x", ${etag}` })).toBe(200);
    expect(await status({ "if-match": '"x"' })).toBe(412);
    expect(await status({ "if-none-match": etag })).toBe(304);
    expect(await status({ "if-none-match": '"x"' })).toBe(200);
  }
});

test("HEAD has the headers of GET and no body, also for errors", async () => {
  const { signed } = await ownS3();
  await signed(put);
  const [get, head] = [await signed({ path }), await signed({ method: "HEAD", path })];
  expect(head).toMatchObject({ status: 200, body: "", headers: { "content-length": "10", etag: get.headers.etag } });
  expect(await signed({ method: "HEAD", path: `/${bucket}/none` })).toMatchObject({ status: 404, body: "" });
});

test("the query can set headers of the answer, which is only possible with a signature", async () => {
  const { signed, send } = await ownS3();
  await signed(put);
  const query = { "response-content-type": "text/x", "response-cache-control": "no-store" };
  const { headers } = await signed({ path, query });
  expect(headers).toMatchObject({ "content-type": "text/x", "cache-control": "no-store" });
  expect((await send({ path: `${path}?response-content-type=text/x` })).status).toBe(403);
});

test("a header of the answer with a line break or an emoji is refused", async () => {
  const { signed } = await ownS3();
  await signed(put);
  for (const value of ["a\r\nset-cookie: x=y", "🎈"]) {
    const query = { "response-content-disposition": value };
    expect(await signed({ path, query })).toMatchObject({ status: 400, code: "InvalidArgument" });
  }
});
