import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { expect, test } from "vitest";
import { bucket, ownS3 } from "./s3-client.ts";

const path = `/${bucket}/key`;
const put = { method: "PUT", path, body: "hello" };

test("a request that is signed in its header is answered", async () => {
  const { signed } = await ownS3();
  expect(await signed(put)).toMatchObject({ status: 200, headers: { etag: '"5d41402abc4b2a76b9719d911017c592"' } });
  expect(await signed({ path })).toMatchObject({ status: 200, body: "hello" });
});

test("a request without a signature is refused", async () => {
  const { send } = await ownS3();
  expect(await send({ path })).toMatchObject({ status: 403, code: "AccessDenied" });
});

test("a request with an unknown access key or a wrong secret is refused", async () => {
  const { signed } = await ownS3();
  expect(await signed({ ...put, accessKey: "other" })).toMatchObject({ status: 403, code: "InvalidAccessKeyId" });
  expect(await signed({ ...put, secret: "other" })).toMatchObject({ status: 403, code: "SignatureDoesNotMatch" });
});

test("a request whose time differs from the server's by more than 15 minutes is refused", async () => {
  const { signed, clock } = await ownS3();
  const date = (minutes: number) => new Date(clock.now() + minutes * 60_000);
  expect((await signed({ ...put, date: date(-14) })).status).toBe(200);
  expect(await signed({ ...put, date: date(-16) })).toMatchObject({ status: 403, code: "RequestTimeTooSkewed" });
  expect(await signed({ ...put, date: date(16) })).toMatchObject({ status: 403, code: "RequestTimeTooSkewed" });
});

test.each<[string, (headers: Record<string, string>) => Record<string, string>, string]>([
  ["another value of a signed header", (headers) => ({ ...headers, "content-type": "b/b" }), "SignatureDoesNotMatch"],
  ["no value of a signed header", ({ "content-type": _, ...headers }) => headers, "SignatureDoesNotMatch"],
  ["a header of S3 that is not signed", (headers) => ({ ...headers, "x-amz-meta-a": "1" }), "AccessDenied"],
  ["no x-amz-date", ({ "x-amz-date": _, ...headers }) => headers, "AccessDenied"],
  ["no x-amz-content-sha256", ({ "x-amz-content-sha256": _, ...headers }) => headers, "InvalidRequest"],
  [
    "a malformed header",
    (headers) => ({ ...headers, authorization: "AWS4-HMAC-SHA256 x" }),
    "AuthorizationHeaderMalformed",
  ],
  ["another scheme", (headers) => ({ ...headers, authorization: "Bearer x" }), "AuthorizationHeaderMalformed"],
  [
    "another service",
    (headers) => ({ ...headers, authorization: String(headers.authorization).replace("/s3/", "/sqs/") }),
    "AuthorizationHeaderMalformed",
  ],
])("a request with %s is refused", async (_, change, code) => {
  const { sign, send } = await ownS3();
  const { headers = {}, ...request } = await sign({ ...put, headers: { "content-type": "a/a" } });
  expect(await send({ ...request, headers: change(headers) })).toMatchObject({ code });
});

test("a request whose method, path or query was changed is refused", async () => {
  const { sign, send } = await ownS3();
  const request = await sign({ method: "GET", path });
  for (const change of [{ method: "DELETE" }, { path: `/${bucket}/other` }, { path: `${path}?x-id=GetObject` }]) {
    expect(await send({ ...request, ...change })).toMatchObject({ status: 403, code: "SignatureDoesNotMatch" });
  }
});

test("a body that is not the signed one is refused, and nothing is stored", async () => {
  const { sign, send, signed, files } = await ownS3();
  const request = await sign(put);
  expect(await send({ ...request, body: "jello" })).toMatchObject({ status: 400, code: "XAmzContentSHA256Mismatch" });
  expect(await signed({ path })).toMatchObject({ status: 404, code: "NoSuchKey" });
  expect(files()).toEqual([]);
});

async function presigner() {
  const own = await ownS3();
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new S3Client({ endpoint: own.server.url, region: "us-east-1", forcePathStyle: true, credentials });
  await own.signed(put);
  const signingDate = new Date(own.clock.now());
  const at = { Bucket: bucket, Key: "key" };
  const url = (expiresIn: number, more: object = {}) =>
    getSignedUrl(client, new GetObjectCommand({ ...at, ...more }), { expiresIn, signingDate });
  const putUrl = () =>
    getSignedUrl(client, new PutObjectCommand({ ...at, Key: "new" }), { expiresIn: 60, signingDate });
  const get = async (address: string) => {
    const response = await fetch(address);
    const body = await response.text();
    return { status: response.status, body, headers: response.headers };
  };
  return { ...own, url, putUrl, get };
}

test("a presigned URL works until it expires, by the server's clock", async () => {
  const { url, get, clock } = await presigner();
  const address = await url(60);
  expect(await get(address)).toMatchObject({ status: 200, body: "hello" });
  await clock.advance(59_000);
  expect((await get(address)).status).toBe(200);
  await clock.advance(2_000);
  const late = await get(address);
  expect(late.status).toBe(403);
  expect(late.body).toMatch(/<Code>AccessDenied<\/Code><Message>Request has expired<\/Message><X-Amz-Expires>60</);
});

test("a presigned URL for a week works for six days", async () => {
  const { url, get, clock } = await presigner();
  const address = await url(604_800);
  await clock.advance(6 * 86_400_000);
  expect((await get(address)).status).toBe(200);
});

test.each([
  ["expiry", (url: string) => url.replace("X-Amz-Expires=60", "X-Amz-Expires=61")],
  ["key", (url: string) => url.replace("/key?", "/kez?")],
  ["type", (url: string) => url.replace("text%2Fplain", "text%2Fhtml")],
  [
    "signature",
    (url: string) =>
      url.replace(/(X-Amz-Signature=)./, (_, start) => `${start}${url.includes(`${start}0`) ? "1" : "0"}`),
  ],
  ["query, by a parameter more", (url: string) => `${url}&response-content-disposition=inline`],
])("a presigned URL with another %s is refused", async (_, change) => {
  const { url, get } = await presigner();
  const address = await url(60, { ResponseContentType: "text/plain" });
  expect((await get(address)).headers.get("content-type")).toBe("text/plain");
  const answer = await get(change(address));
  expect(answer.status).toBe(403);
  expect(answer.body).toContain("<Code>SignatureDoesNotMatch</Code>");
});

test.each(["604801", "-1", "x", ""])("a presigned URL that expires after %j seconds is refused", async (seconds) => {
  const { url, get } = await presigner();
  const answer = await get((await url(60)).replace("X-Amz-Expires=60", `X-Amz-Expires=${seconds}`));
  expect(answer.status).toBe(400);
  expect(answer.body).toContain("<Code>AuthorizationQueryParametersError</Code>");
});

test("a presigned URL whose date is in the future is refused", async () => {
  const { url, get, clock } = await presigner();
  const address = await url(60);
  await clock.advance(-3_600_000);
  expect((await get(address)).body).toContain("Request is not yet valid");
});

test("a presigned PUT takes no header of S3 that is not signed", async () => {
  const { putUrl } = await presigner();
  const headers = { "x-amz-meta-a": "1" };
  const answer = await fetch(await putUrl(), { method: "PUT", body: "x", headers });
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain("<HeadersNotSigned>x-amz-meta-a</HeadersNotSigned>");
});
