import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import tellRoom from "./tasks/room.tell.ts";

const viewer = (id: string, frequency: string, link: string | null = "l") => ({ id, frequency, link });
const begin = () =>
  world.begin({
    "db/viewers": () => [
      viewer("a", "instant"),
      viewer("b", "daily"),
      viewer("c", "never"),
      viewer("d", "instant", null),
    ],
  });

test("each viewer is told in their own way, once, wherever the worker dies", async () => {
  begin();
  await testKit([tellRoom]).crashEverywhere(tellRoom, { roomId: "r", documentId: "d" }, ({ status }) => {
    expect([status, world.of("mail/send").length, world.of("digest/add").length]).toEqual(["completed", 1, 1]);
    begin();
  });
});

test("a viewer whose mail is refused for good keeps nobody else from theirs", async () => {
  begin();
  world.refuse("mail/send", [500, 500, 500]);
  const { status, log } = await testKit([tellRoom]).run(tellRoom, { roomId: "r", documentId: "d" });
  expect([status, world.of("mail/send").length, world.of("digest/add").length]).toEqual(["completed", 0, 1]);
  expect(log).toMatchObject([{ level: "error", message: "could not tell a viewer" }]);
});
