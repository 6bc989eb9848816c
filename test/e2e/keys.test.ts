import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client, expectProblem, expectStatus, until } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";
import { operator, submitter } from "./callers.ts";
import { createKey, createKeyAt, deployed, offload } from "./command-line.ts";

const echo = { type: "probe.echo", input: { value: 1 } };

describe.concurrent("API keys", () => {
  test("a key made by the command line opens its tenant in its role, and is shown as requested_by", async () => {
    const { client, keyId } = await createKey(operator.tenant, "submitter", "--label", "a test");
    const { task_id } = await client.submit("probe.echo", { value: 1 });
    expect(await client.task(task_id)).toMatchObject({ requested_by: keyId });
    expect(await operator.task(task_id)).toMatchObject({ requested_by: keyId });
    expectProblem(await submitter.get(`/tasks/${task_id}`), 404, "not_found");
    expectProblem(await client.get("/dead-letters"), 403, "forbidden");
  });

  test("the list shows the use of a key, and never its secret", async () => {
    const { client, keyId, token } = await createKey("initech", "operator", "--label", "listed");
    expectStatus(await client.get("/tasks"), 200);
    const { out } = await offload(["keys", "list", "--tenant", "initech", "--json"]);
    const { keys } = JSON.parse(out) as { keys: Record<string, unknown>[] };
    expect(keys.find(({ key_id }) => key_id === keyId)).toMatchObject({
      tenant_id: "initech",
      role: "operator",
      label: "listed",
      last_used_at: expect.stringMatching(/^20/),
    });
    expect(out).not.toContain(token.split("_").slice(2).join("_"));
    expect(out).not.toContain("secret");
    expect((await offload(["keys", "list"])).out).toContain(keyId);
  });

  test("a wrong or missing secret opens nothing", async () => {
    const { token } = await createKey(operator.tenant, "operator");
    for (const wrong of [`${token}x`, `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`, token.slice(0, 30)]) {
      const client = new Client(process.env.OFFLOAD_URL ?? "", { token: wrong, tenant: "", role: "" });
      const answer = await client.get("/tasks");
      expectProblem(answer, 401, "unauthenticated");
      expect(answer.headers.get("www-authenticate") ?? answer.headers.get("x-amzn-remapped-www-authenticate")).toBe(
        "Bearer",
      );
    }
  });

  test("two keys with the same Idempotency-Key get a task each", async () => {
    const [one, other] = [await createKey("hooli", "operator"), await createKey("hooli", "submitter")];
    const submit = ({ client }: typeof one) =>
      client.submit("probe.echo", { value: 1 }, {}, { "idempotency-key": "order-7" });
    const ids = await Promise.all([one, other, one, other].map(async (key) => (await submit(key)).task_id));
    expect(ids[0]).not.toBe(ids[1]);
    expect(ids.slice(2)).toEqual(ids.slice(0, 2));
    expectProblem(await other.client.get(`/tasks/${ids[0]}`), 404, "not_found");
    expectStatus(await one.client.get(`/tasks/${ids[1]}`), 200);
  });

  test.for([
    ["create", "--tenant", "a b", "--role", "operator"],
    ["create", "--tenant", "acme", "--role", "root"],
    ["create", "--tenant", "acme"],
    ["create", "--tenant", "acme", "--role", "operator", "--expires", "yesterday"],
    ["create", "--tenant", "acme", "--role", "operator", "--expires", "2020-01-01"],
    ["revoke"],
    ["revoke", "no/key"],
  ])("a wrong command line changes no key: %s", async (args) => {
    expect(await offload(["keys", ...args])).toMatchObject({ code: 2, out: "" });
  });

  test("a key that does not exist cannot be revoked", async () => {
    expect(await offload(["keys", "revoke", "abcdefgh23456789"])).toMatchObject({ code: 1, out: "" });
  });
});

describe("the end of a key", () => {
  let server: TimelyServer | undefined;
  beforeAll(async () => {
    server = deployed ? undefined : await startTimelyServer();
  });
  afterAll(() => server?.stop());

  const made = (...more: string[]) =>
    createKeyAt(server?.url ?? process.env.OFFLOAD_URL ?? "", operator.tenant, "operator", ...more);
  /** Lets time pass on a machine, and waits in a deployment. */
  const inTime = <T>(what: string, step: () => Promise<T | undefined>): Promise<T> =>
    server === undefined ? until(what, step, 100_000) : server.passUntil(what, step);

  test("an expired key stops working", async () => {
    const { client } = await made("--expires", "20s");
    expectStatus(await client.get("/tasks?limit=1"), 200);
    const refused = await inTime("the key to expire", async () => {
      const answer = await client.get("/tasks?limit=1");
      return answer.status === 200 ? undefined : answer;
    });
    expectProblem(refused, 401, "unauthenticated");
  });

  test("a revoked key stops working", async () => {
    const { client, keyId } = await made();
    expectStatus(await client.get("/tasks?limit=1"), 200);
    expect(await offload(["keys", "revoke", keyId], server?.url)).toMatchObject({ code: 0 });
    const remembered = deployed ? sleep(61_000) : undefined;
    await inTime("the key to stop working", async () =>
      (await client.get("/tasks?limit=1")).status === 401 ? true : undefined,
    );
    // A deployment's processes each remember the key for up to a minute of their own.
    await remembered;
    expectProblem(await client.get("/tasks?limit=1"), 401, "unauthenticated");
  });
});

describe.skipIf(deployed)("tokens of an issuer (a local server of the test's own)", () => {
  let server: OwnServer;
  let close: () => void;
  let sign: (
    claims: Record<string, unknown>,
    more?: { alg?: string; expires?: string; kid?: string },
  ) => Promise<string>;
  let stranger: typeof sign;

  beforeAll(async () => {
    const [own, other] = await Promise.all([generateKeyPair("ES256"), generateKeyPair("ES256")]);
    const jwk = { ...(await exportJWK(own.publicKey)), kid: "k1", alg: "ES256", use: "sig" };
    const issuer = createServer((request, response) => {
      const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
      const document = { issuer: url, jwks_uri: `${url}/keys` };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(request.url === "/keys" ? { keys: [jwk] } : document));
    });
    await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve));
    close = () => issuer.close();
    const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
    const signer =
      (key: CryptoKey): typeof sign =>
      (claims, { expires = "5m", kid = "k1" } = {}) =>
        new SignJWT({
          iss: url,
          aud: "offload",
          sub: "user-1",
          "custom:tenant": "acme",
          roles: ["operator"],
          ...claims,
        })
          .setProtectedHeader({ alg: "ES256", kid })
          .setExpirationTime(expires)
          .sign(key);
    sign = signer(own.privateKey);
    stranger = signer(other.privateKey);
    server = await startOwnServer({
      OFFLOAD_JWT_ISSUER: url,
      OFFLOAD_JWT_AUDIENCE: "offload",
      OFFLOAD_JWT_TENANT_CLAIM: "custom:tenant",
      OFFLOAD_JWT_ROLE_CLAIM: "roles",
    });
  });
  afterAll(async () => {
    close();
    await server?.stop();
  });

  const withToken = (token: string) => new Client(server.url, { token, tenant: "acme", role: "operator" });

  test("a token opens the tenant that it names, in the mightiest of its roles", async () => {
    const client = withToken(await sign({ roles: ["billing", "submitter", "operator"] }));
    const { task_id } = await client.submit("probe.context", {});
    expect((await client.ended(task_id)).result).toMatchObject({ tenant_id: "acme", requested_by: "user-1" });
    expectStatus(await client.get("/dead-letters"), 200);
    expectProblem(await client.get("/queues"), 403, "forbidden");
    const globex = withToken(await sign({ "custom:tenant": "globex" }));
    expectProblem(await globex.get(`/tasks/${task_id}`), 404, "not_found");
  });

  test("API keys and local keys work beside tokens", async () => {
    const ran = await offload(["keys", "create", "--tenant", "acme", "--role", "submitter"], server.url);
    expectStatus(await withToken(ran.out.trim()).post("/tasks", echo), 202);
    expectStatus(await withToken("dev-acme").post("/tasks", echo), 202);
  });

  test("a token that is tampered with, expired, unsigned or made for others opens nothing", async () => {
    const good = await sign({});
    const [header = "", payload = "", signature = ""] = good.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const bad: Record<string, string> = {
      tampered: `${header}.${encode({ ...claims, "custom:tenant": "globex" })}.${signature}`,
      "alg none": `${encode({ alg: "none" })}.${payload}.`,
      "alg none with a signature": `${encode({ alg: "none" })}.${payload}.${signature}`,
      expired: await sign({}, { expires: "-2m" }),
      "another audience": await sign({ aud: "another" }),
      "another issuer": await sign({ iss: "http://127.0.0.1:1" }),
      "another key": await stranger({}),
      "an unknown key": await sign({}, { kid: "k2" }),
      "no tenant": await sign({ "custom:tenant": undefined }),
      "a tenant that is none": await sign({ "custom:tenant": "a#b" }),
      "no role": await sign({ roles: ["billing"] }),
      "no subject": await sign({ sub: undefined }),
    };
    for (const [what, token] of Object.entries(bad)) {
      const answer = await withToken(token).get("/tasks");
      expect(answer.status, what).toBe(401);
      expectProblem(answer, 401, "unauthenticated");
    }
    expectStatus(await withToken(good).get("/tasks"), 200);
  });
});
