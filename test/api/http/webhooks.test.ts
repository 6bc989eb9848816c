import { expect, test } from "vitest";
import { ask, gina, problem, sam, served } from "../../support/served.ts";

test("GET /webhooks/secret shows the tenant's own secret to operators", async () => {
  const { control } = served();
  const answer = await ask(control, "/webhooks/secret");
  expect(answer.json).toEqual({ tenant_id: "acme", secret: expect.stringMatching(/^whsec_/), also_signing: 0 });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const other = await ask(control, "/webhooks/secret", { as: gina });
  expect(other.json.secret).not.toBe(answer.json.secret);
  expect(await ask(control, "/webhooks/secret", { as: sam })).toMatchObject(problem(403, "forbidden"));
});

test("POST /webhooks/secret/rotate makes a new secret four times a day, while the earlier ones sign", async () => {
  const { control } = served();
  const rotate = () => ask(control, "/webhooks/secret/rotate", { json: {} });
  const secrets = new Set([(await ask(control, "/webhooks/secret")).json.secret]);
  for (const also_signing of [1, 2, 3, 4]) {
    const { json } = await rotate();
    expect(json).toMatchObject({ tenant_id: "acme", also_signing });
    secrets.add(json.secret);
  }
  expect(secrets.size).toBe(5);
  expect(await rotate()).toMatchObject(problem(409, "conflict"));
  expect(await ask(control, "/webhooks/secret/rotate", { json: {}, as: sam })).toMatchObject(problem(403, "forbidden"));
});
