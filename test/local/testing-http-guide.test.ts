import { createClient } from "offload/client";
import { startLocalServer, type TestServer } from "offload/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

let offload: TestServer;
beforeAll(async () => {
  offload = await startLocalServer({ env: { OFFLOAD_TIME_SCALE: "0.01" } });
}, 60_000);
afterAll(() => offload.stop());

test("a task is done", async () => {
  const client = createClient({ url: offload.url, key: "dev-acme" });
  const task = await client.submit("probe.echo", { value: "hello" });
  expect(await client.result(task)).toEqual({ value: "hello" });
});
