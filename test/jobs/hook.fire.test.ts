import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import fire from "./tasks/hook.fire.ts";
import { world } from "./tasks/lib/world.ts";

const begin = () => world.begin({ "db/hook": () => ({ signingKey: "k" }), "db/features": () => ({ dark: true }) });

test("a hook is tried after 30 seconds and five minutes, and its error is shown", async () => {
  begin();
  world.refuse("hook/post", [404, 500, 422]);
  const { status, attempts } = await testKit([fire]).run(fire, { hookId: "h" });
  expect([status, ...attempts.map(({ waitSeconds }) => waitSeconds)]).toEqual(["failed", 30, 300, undefined]);
  expect(world.of("db/hook/error").map(({ error }) => error)).toEqual(["status 404", "status 500", "status 422"]);
});

test("the error is gone when the hook has been called", async () => {
  begin();
  world.refuse("hook/post", [500]);
  expect((await testKit([fire]).run(fire, { hookId: "h" })).status).toBe("completed");
  expect(world.of("hook/post")).toMatchObject([
    { body: '{"dark":true}', signature: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
  expect(world.of("db/hook/error").at(-1)).toEqual({ hookId: "h", error: "" });
});
