import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { containerCredentials } from "../../src/aws/lean/container-credentials.ts";
import type { Credentials } from "../../src/aws/lean/environment.ts";
import type { KeptCredentials } from "../../src/aws/lean/kept-credentials.ts";
import { webIdentityCredentials } from "../../src/aws/lean/web-identity.ts";
import { httpStub, type StubAnswer } from "../support/http-stub.ts";

const hourMs = 3_600_000;

const answerAt = (id: number, expiresAt: number) =>
  JSON.stringify({
    AccessKeyId: `AKID${id}`,
    SecretAccessKey: "secret",
    Token: "token",
    Expiration: new Date(expiresAt).toISOString(),
  });

/** Credentials of a container whose address is a stub's, at a time that the test sets. */
async function setUp(answer: (requests: number) => StubAnswer, more: NodeJS.ProcessEnv = {}) {
  const { url, requests } = await httpStub(() => answer(requests.length));
  const clock = { now: 0 };
  const env = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`, ...more };
  const kept = containerCredentials(env, () => clock.now) as KeptCredentials;
  return { requests, clock, get: () => kept.get() };
}

/** Waits until the credentials are those with this id: they are read while calls go on. */
const becomes = (get: () => Promise<Credentials>, accessKeyId: string) =>
  expect.poll(async () => (await get()).accessKeyId).toBe(accessKeyId);

test("the credentials of a role are read once, and again before they expire, while calls go on with the old ones", async () => {
  const { requests, clock, get } = await setUp((count) => ({ body: answerAt(count, 6 * hourMs * count) }));
  expect(await get()).toEqual({ accessKeyId: "AKID1", secretAccessKey: "secret", sessionToken: "token" });
  expect(requests[0]?.url).toBe("/v1/credentials");
  clock.now = 5 * hourMs;
  expect(await get()).toMatchObject({ accessKeyId: "AKID1" });
  expect(requests).toHaveLength(1);
  clock.now = 6 * hourMs - 60_000;
  expect(await get()).toMatchObject({ accessKeyId: "AKID1" });
  await becomes(get, "AKID2");
});

test("calls at the same time share one request", async () => {
  const { requests, get } = await setUp(() => ({ body: answerAt(1, hourMs) }));
  await Promise.all([get(), get()]);
  expect(requests).toHaveLength(1);
});

test("old credentials that are still valid go on when their refresh fails, and end when they expire", async () => {
  let isDown = false;
  const { requests, clock, get } = await setUp(() => (isDown ? { status: 500 } : { body: answerAt(1, hourMs) }));
  await get();
  isDown = true;
  clock.now = hourMs - 60_000;
  expect(await get()).toMatchObject({ accessKeyId: "AKID1" });
  await expect.poll(() => requests.length).toBe(1 + 3);
  expect(await get()).toMatchObject({ accessKeyId: "AKID1" });
  clock.now = hourMs;
  await expect(get()).rejects.toThrow("answered 500 to the request for credentials");
  isDown = false;
  expect(await get()).toMatchObject({ accessKeyId: "AKID1" });
});

test("a passing error is tried again, and after a lasting one the next call reads again", async () => {
  let failures = 5;
  const { requests, get } = await setUp(() => (failures-- > 0 ? { status: 500 } : { body: answerAt(1, hourMs) }));
  await expect(get()).rejects.toThrow("answered 500");
  expect(requests).toHaveLength(3);
  expect(await get()).toMatchObject({ accessKeyId: "AKID1" });
});

test("an answer without credentials is an error", async () => {
  const { get } = await setUp(() => ({ body: "{}" }));
  await expect(get()).rejects.toThrow("no role is set");
});

test("EKS Pod Identity: each read sends the token that its file has then", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "offload-token-")), "token");
  writeFileSync(file, "first\n");
  const more = { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file };
  const { requests, clock, get } = await setUp((count) => ({ body: answerAt(count, hourMs * count) }), more);
  await get();
  writeFileSync(file, "second\n");
  clock.now = hourMs;
  await get();
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(["first", "second"]);
});

test("a token does not leave the machine without TLS", () => {
  const at = (url: string) => containerCredentials({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url });
  expect(() => at("http://credentials.example/")).toThrow(/must be https/);
  for (const url of ["http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1", "https://credentials.example/"]) {
    expect(at(url)).toBeDefined();
  }
  expect(containerCredentials({})).toBeUndefined();
});

test("a service account's role is assumed with the token of its file", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "offload-token-")), "token");
  writeFileSync(file, "jwt");
  const xml = (name: string, value: string) => `<${name}>${value}</${name}>`;
  const { url, requests } = await httpStub(() => ({
    body: `<Result><Credentials>${xml("AccessKeyId", "ASIA1")}${xml("SecretAccessKey", "secret")}${xml("SessionToken", "t")}${xml(
      "Expiration",
      "2027-01-01T00:00:00Z",
    )}</Credentials></Result>`,
  }));
  const role = { AWS_ROLE_ARN: "arn:aws:iam::1:role/shop", AWS_WEB_IDENTITY_TOKEN_FILE: file };
  const kept = webIdentityCredentials({ ...role, AWS_REGION: "us-east-1", AWS_ENDPOINT_URL_STS: url }, () => 0);
  expect(await kept?.get()).toEqual({ accessKeyId: "ASIA1", secretAccessKey: "secret", sessionToken: "t" });
  const asked = new URL(requests[0]?.url ?? "", url).searchParams;
  expect(Object.fromEntries(asked)).toEqual({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: "arn:aws:iam::1:role/shop",
    RoleSessionName: "offload",
    WebIdentityToken: "jwt",
  });
  expect(webIdentityCredentials({})).toBeUndefined();
});
