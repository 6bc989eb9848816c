import { describe, expect, test } from "vitest";
import { expectStatus } from "../support/http-client.ts";
import { anonymous } from "./callers.ts";

describe.concurrent("health", () => {
  test("health answers without a token", async () => {
    const answer = expectStatus(await anonymous.get("/health"), 200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/);
    expect(answer.json()).toMatchObject({ status: "ok", version: expect.stringMatching(/\S/) });
  });

  test("health carries a correlation id", async () => {
    const answer = await anonymous.get("/health", { "x-correlation-id": "health-1" });
    expect(answer.headers.get("x-correlation-id")).toBe("health-1");
  });

  test("a local server names the queue and DLQ of every tier, and a deployed stack names none", async () => {
    const { queues } = (await anonymous.get("/health")).json<{ queues?: Record<string, unknown> }>();
    const urls = { url: expect.stringMatching(/^https?:\/\//), dlq_url: expect.stringMatching(/^https?:\/\//) };
    if (queues !== undefined) expect(queues).toMatchObject({ critical: urls, high: urls, normal: urls, low: urls });
  });
});
