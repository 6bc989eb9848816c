import { describe, expect, test } from "vitest";
import { expectStatus } from "../support/http-client.ts";
import { anonymous } from "./callers.ts";
import { deployed } from "./command-line.ts";

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
    const { queues } = (await anonymous.get("/health")).json();
    const urls = { url: expect.stringMatching(/^http:\/\//), dlq_url: expect.stringMatching(/^http:\/\//) };
    expect(queues).toEqual(deployed ? undefined : { critical: urls, high: urls, normal: urls, low: urls });
  });
});
