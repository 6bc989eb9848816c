import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import archive from "./tasks/files.archive.ts";
import { world } from "./tasks/lib/world.ts";

const begin = () => world.begin({ "files/list": () => ["a.pdf"], "net/addresses": () => ["192.0.2.0/24"] });
const input = { email: "a@b.co" };
const signals = [{ name: "approval", body: {}, afterSeconds: 30 }];

test("a write that fails four times is done by its own tries", async () => {
  begin();
  world.refuse("files/write", [500, 500, 500, 500]);
  const { status, attempts, seconds } = await testKit([archive]).run(archive, input, { signals });
  expect([status, attempts.length, seconds]).toEqual(["completed", 1, 30 + 60 + 5 + 10 + 20 + 40]);
  expect(world.of("net/addresses")).toHaveLength(1);
});

test("without an approval it fails after a minute", async () => {
  begin();
  expect(await testKit([archive]).run(archive, input)).toMatchObject({ status: "failed", seconds: 60 });
  expect(world.of("files/write")).toEqual([]);
});
