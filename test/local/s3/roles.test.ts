import { expect, test } from "vitest";
import { bucket, ownS3, type Signing } from "./s3-client.ts";

const task = `/${bucket}/acme/0f4e7a52-3c1d-4b5e-8a6f-112233445566`;
const input = `${task}/input-0123`;
const result = `${task}/result-abc-1`;
const upload = `/${bucket}/acme/uploads/0f4e7a52-3c1d-4b5e-8a6f-112233445566`;

/** Requests, by the action that they need, with the role that sends them. */
test.each([
  ["submit", "PUT", input, 200],
  ["submit", "PUT", upload, 200],
  ["submit", "PUT", result, 403],
  ["submit", "DELETE", input, 403],
  ["status", "PUT", result, 403],
  ["control", "PUT", input, 200],
  ["control", "DELETE", result, 204],
  ["fire", "PUT", input, 200],
  ["fire", "PUT", upload, 403],
  ["worker", "PUT", result, 200],
  ["worker", "DELETE", result, 403],
  ["internalWorker", "DELETE", upload, 204],
  ["notify", "PUT", input, 403],
  ["worker", "PUT", `/${bucket}/other`, 403],
])("the role %s: %s %s is answered by %i", async (role, method, path, status) => {
  const { signed: send, server } = await ownS3();
  const signed = (request: Signing) => send({ ...request, secret: server.secret });
  const body = method === "PUT" ? { body: "text" } : {};
  const answer = await signed({ method, path, ...body, accessKey: `offload.${role}` });
  expect(answer.status).toBe(status);
  if (status === 403) expect([answer.code, answer.body]).toEqual(["AccessDenied", expect.stringContaining(role)]);
});

test("no role may list the bucket, so an object that is not there is refused like one that is another's", async () => {
  const { signed: send, server } = await ownS3();
  const signed = (request: Signing) => send({ ...request, secret: server.secret });
  expect(await signed({ path: result, accessKey: "offload.status" })).toMatchObject({
    status: 403,
    code: "AccessDenied",
  });
  await signed({ method: "PUT", path: result, body: "text", accessKey: "offload.worker" });
  expect(await signed({ path: result, accessKey: "offload.status" })).toMatchObject({ status: 200, body: "text" });
  expect((await signed({ path: result, accessKey: "offload.submit" })).status).toBe(403);
});
