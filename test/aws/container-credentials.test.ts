import { expect, test } from "vitest";
import { containerCredentials } from "../../src/aws/lean/container-credentials.ts";
import { httpStub } from "../support/http-stub.ts";

const answerAt = (id: number, expiresAt: number) =>
  JSON.stringify({
    AccessKeyId: `AKID${id}`,
    SecretAccessKey: "secret",
    Token: "token",
    Expiration: new Date(expiresAt).toISOString(),
  });

const hourMs = 3_600_000;
let path = 0;
/** A path of its own for each test: credentials are kept for a process. */
const newPath = () => `/v2/credentials/${++path}`;

test("the credentials of the task role are read once, and again before they expire", async () => {
  const { url, requests } = await httpStub(() => ({ body: answerAt(requests.length, 6 * hourMs) }));
  const at = newPath();
  const first = await containerCredentials(at, url, () => 0);
  expect(first).toEqual({ accessKeyId: "AKID1", secretAccessKey: "secret", sessionToken: "token" });
  expect(requests[0]?.url).toBe(at);
  expect(await containerCredentials(at, url, () => 5 * hourMs)).toEqual(first);
  expect(await containerCredentials(at, url, () => 6 * hourMs - 60_000)).toMatchObject({ accessKeyId: "AKID2" });
});

test("calls at the same time share one request", async () => {
  const { url, requests } = await httpStub(() => ({ body: answerAt(1, hourMs) }));
  const at = newPath();
  await Promise.all([containerCredentials(at, url, () => 0), containerCredentials(at, url, () => 0)]);
  expect(requests).toHaveLength(1);
});

test("a passing error is tried again, and after a lasting one the next call reads again", async () => {
  let failures = 5;
  const { url, requests } = await httpStub(() =>
    failures-- > 0 ? { status: 500 } : { body: answerAt(1, Date.now() + hourMs) },
  );
  const at = newPath();
  await expect(containerCredentials(at, url)).rejects.toThrow("ECS answered 500");
  expect(requests).toHaveLength(3);
  expect(await containerCredentials(at, url)).toMatchObject({ accessKeyId: "AKID1" });
});

test("an answer without credentials is an error", async () => {
  const { url } = await httpStub(() => ({ body: "{}" }));
  await expect(containerCredentials(newPath(), url)).rejects.toThrow("no task role");
});
