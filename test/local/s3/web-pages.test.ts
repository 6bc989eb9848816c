import { expect, test } from "vitest";
import { localServicesEnv } from "../../../src/aws/local-services.ts";
import { openS3Blobs } from "../../../src/aws/s3/s3-blobs.ts";
import { bucket, ownS3 } from "./s3-client.ts";

const path = `/${bucket}/key`;
const origin = "https://app.example";

const preflight = (method: string, headers: Record<string, string> = {}) => ({
  method: "OPTIONS",
  path,
  headers: { origin, "access-control-request-method": method, ...headers },
});

test.each(["GET", "HEAD", "PUT"])(
  "a page of any origin may ask for %s, with the headers that it names",
  async (method) => {
    const { send } = await ownS3();
    const asked = { "access-control-request-headers": "content-type,if-none-match,x-amz-checksum-sha256" };
    const { status, headers } = await send(preflight(method, asked));
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, HEAD, PUT",
      "access-control-allow-headers": asked["access-control-request-headers"],
      "access-control-expose-headers": "ETag",
    });
  },
);

test("a page may ask for no other method, and a preflight without an origin is refused", async () => {
  const { send } = await ownS3();
  expect((await send(preflight("DELETE"))).status).toBe(403);
  expect((await send({ method: "OPTIONS", path })).status).toBe(403);
});

test("a page can use a URL that the server's functions have signed", async () => {
  const { server, send } = await ownS3();
  const services = {
    dynamodb: "",
    sqs: "",
    scheduler: "",
    cloudwatch: "",
    eventbridge: "",
    s3: server.url,
    s3Secret: server.secret,
  };
  const blobs = openS3Blobs(bucket, localServicesEnv(services));
  const { url, headers } = await blobs.presignPut("key", { expiresSeconds: 60, sizeBytes: 2, contentType: "a/b" });
  const target = url.slice(server.url.length);
  const put = await send({ method: "PUT", path: target, headers: { ...headers, origin }, body: "hi" });
  expect(put).toMatchObject({ status: 200, headers: { "access-control-allow-origin": "*" } });
  const get = (await blobs.presignGet("key", { expiresSeconds: 60 })).slice(server.url.length);
  expect(await send({ path: get, headers: { origin } })).toMatchObject({ status: 200, body: "hi" });
});

test("a page cannot sign requests itself with the key that clients on this machine use", async () => {
  const { signed, send, sign, server } = await ownS3();
  await signed({ method: "PUT", path, body: "secret" });
  for (const from of [origin, server.url, "null"]) {
    const read = await signed({ path, headers: { origin: from } });
    expect(read).toMatchObject({ status: 403, code: "AccessDenied" });
    const { headers, ...request } = await sign({ method: "PUT", path, body: "forged" });
    expect((await send({ ...request, headers: { ...headers, origin: from } })).status).toBe(403);
  }
  expect((await signed({ path })).body).toBe("secret");
});

test("a request to another host name is refused, so that a website's name for this machine does not help it", async () => {
  const { send, sign } = await ownS3();
  for (const host of ["evil.example", "localhost.evil.example", "localhost."]) {
    const { headers, ...request } = await sign({ path });
    expect(await send({ ...request, headers: { ...headers, host } })).toMatchObject({
      status: 403,
      code: "AccessDenied",
    });
    const asked = await send({ ...preflight("GET"), headers: { ...preflight("GET").headers, host } });
    expect(asked.status).toBe(403);
    expect(asked.headers["access-control-allow-origin"]).toBeUndefined();
  }
});
