import { describe, expect, test } from "vitest";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, appsOf, ask, olga, problem, sam, served } from "../../support/served.ts";

describe("POST /channels", () => {
  const post = ({ control }: Pick<ReturnType<typeof served>, "control">, more: Ask = {}) =>
    ask(control, "/channels", { method: "POST", as: sam, ...more });

  test("a channel is opened without a body", async () => {
    const { status, headers, json } = await post(served());
    expect([status, headers.get("cache-control")]).toEqual([201, "no-store"]);
    expect(Object.keys(json)).toEqual(["channel_id", "url", "expires_at"]);
    expect(json.url).toMatch(/^wss:\/\/push\.example\.com\/v1\?ticket=./);
  });

  test("a token is needed, and an operator for the whole tenant", async () => {
    const app = served();
    expect(await post(app, { as: {} })).toMatchObject(problem(401, "unauthenticated"));
    expect(await post(app, { json: { scope: "tenant" } })).toMatchObject(problem(403, "forbidden"));
    expect((await post(app, { json: { scope: "tenant" }, as: olga })).status).toBe(201);
  });

  test("an unknown field is refused with the expected body", async () => {
    const refused = await post(served(), { json: { scopes: "own" } });
    expect(refused).toMatchObject(problem(422, "invalid_input"));
    expect(refused.json.detail).toContain("expected { scope?: own|tenant }");
  });

  test("a deployment without push answers 404", async () => {
    const app = appsOf({ ...memoryPipeline().ports, socketUrl: undefined });
    expect(await post(app)).toMatchObject(problem(404, "not_found"));
  });
});
