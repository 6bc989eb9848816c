import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import publish from "./tasks/post.publish.ts";

const part = (id: string, delayMinutes: number) => ({ id, text: `text ${id}`, delayMinutes });
const post = {
  state: "QUEUE",
  parts: [part("p", 0), part("q", 5)],
  problem: null,
  everyDays: 7,
  plugs: [
    { id: "late", delaySeconds: 3_600 },
    { id: "soon", delaySeconds: 60 },
  ],
};
const begin = (changes: object = {}) => world.begin({ "db/post": () => ({ ...post, ...changes }) });
const run = () => testKit([publish]).run(publish, { postId: "p", channel: "c" }, { follow: false });

test("an old token is refreshed, a comment follows after five minutes, the next post after seven days", async () => {
  begin();
  world.refuse("social/post", [401, 500]);
  const outcome = await run();
  expect(outcome).toMatchObject({ result: { published: 2 }, attempts: { length: 1 }, seconds: 120 + 300 + 3_600 });
  expect(outcome.submitted).toMatchObject([{ input: { postId: "p", again: true }, outcome: { status: "scheduled" } }]);
  expect(world.of("social/post")).toMatchObject([{ text: "text p" }, { text: "text q", replyTo: "social/post 1" }]);
  expect(world.of("social/plug")).toMatchObject([{ id: "soon" }, { id: "late" }]);
});

test("a network that refuses the text leaves the post in ERROR, and tells its owner", async () => {
  begin();
  world.refuse("social/post", [422]);
  expect(await run()).toMatchObject({ status: "failed", onFailed: { status: "completed" } });
  expect(world.of("db/post/state")).toMatchObject([{ state: "ERROR" }]);
  expect(world.of("app/notify")).toHaveLength(1);
});

test("a plug that fails for good keeps no other from its time", async () => {
  begin();
  world.refuse("social/plug", [500, 500, 500]);
  expect(await run()).toMatchObject({ status: "completed" });
  expect(world.of("social/plug")).toMatchObject([{ id: "late" }]);
});

test("nothing is posted twice, wherever the worker dies", async () => {
  const once = { everyDays: 0, plugs: [] };
  begin(once);
  await testKit([publish]).crashEverywhere(publish, { postId: "p", channel: "c" }, ({ status }) => {
    expect([status, world.of("social/post").length, world.of("webhook/send").length]).toEqual(["completed", 2, 1]);
    begin(once);
  });
});
