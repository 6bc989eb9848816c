import { expect, test } from "vitest";
import { Flow } from "../../src/client/index.ts";
import { FakeApi, json, problem } from "./fake-api.ts";

const flowOf = (api: FakeApi) => new Flow({ url: "https://tasks.test", key: "a-key", fetch: api.fetch, maxTries: 1 });

test.each<[string, (flow: Flow) => Promise<unknown>, unknown?]>([
  ["GET /types", (flow) => flow.types()],
  ["POST /types/mail.send/pause", (flow) => flow.pauseType("mail.send"), {}],
  ["POST /types/mail.send/breaker/close", (flow) => flow.closeBreaker("mail.send"), {}],
  ["POST /types/mail.send/breaker/close", (flow) => flow.closeBreaker("mail.send", { key: "acme" }), { key: "acme" }],
  ["POST /types/mail.send/pause", (flow) => flow.pauseType("mail.send", { all: true }), { all: true }],
  ["POST /types/mail.send/resume", (flow) => flow.resumeType("mail.send", { all: false }), { all: false }],
  ["POST /queues/low/pause", (flow) => flow.pauseQueue("low"), {}],
  ["POST /queues/low/resume", (flow) => flow.resumeQueue("low"), {}],
  ["POST /tenants/acme/pause", (flow) => flow.pauseTenant("acme"), {}],
  ["POST /tenants/a%2Fb/resume", (flow) => flow.resumeTenant("a/b"), {}],
  ["PATCH /types/mail.send/limits", (flow) => flow.setLimits("mail.send", { concurrency: 5 }), { concurrency: 5 }],
  [
    "PATCH /types/mail.send/limits",
    (flow) => flow.setLimits("mail.send", { rate: { limit: 100, perSeconds: 60 } }),
    { rate: { limit: 100, per_seconds: 60 } },
  ],
  [
    "PATCH /types/mail.send/limits",
    (flow) => flow.setLimits("mail.send", { concurrency: null, rate: null }),
    { concurrency: null, rate: null },
  ],
  [
    "POST /types/crm.update/limits/a%2Fb",
    (flow) => flow.setKeyLimit("crm.update", "a/b", { limit: 10, expiresInSeconds: 60 }),
    { limit: 10, expires_in_seconds: 60 },
  ],
  [
    "POST /types/crm.update/limits/a",
    (flow) => flow.setKeyLimit("crm.update", "a", { limit: 10, perSeconds: 2 }),
    { limit: 10, per_seconds: 2 },
  ],
  ["DELETE /types/crm.update/limits/a%2Fb", (flow) => flow.clearKeyLimit("crm.update", "a/b")],
])("%s", async (request, call, body) => {
  const answer = { type: "mail.send", paused: null };
  const api = new FakeApi(json(answer));
  expect(await call(flowOf(api))).toEqual(answer);
  expect(api.paths).toEqual([request]);
  expect(api.seen[0]?.body).toEqual(body);
});

test("a refusal is a ProblemError", async () => {
  const api = new FakeApi(problem(403, "forbidden"));
  await expect(flowOf(api).pauseQueue("low")).rejects.toMatchObject({ name: "ProblemError", code: "forbidden" });
});
