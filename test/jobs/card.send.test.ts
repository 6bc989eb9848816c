import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import sendCard from "./tasks/card.send.ts";
import { world } from "./tasks/lib/world.ts";

const startsAt = new Date("2027-01-01T00:00:00Z");
const birthday = "2027-01-11T08:00:00.000Z";
const friends = ["b@b.co", "c@b.co", "d@b.co"];
const begin = () =>
  world.begin({
    "llm/prompts": () => ({ text: "t", image: "i" }),
    "llm/image": () => "s3://image",
    "llm/text": () => "Happy birthday",
  });
const signals = [
  { name: "yes.0", body: {}, afterSeconds: 60 },
  { name: "no.2", body: {}, afterSeconds: 86_400 },
];
const input = { prompt: "a cat", to: "a@b.co", friends, birthday };

test("the card comes on the day, also when a friend never answers", async () => {
  begin();
  const { seconds } = await testKit([sendCard], { startsAt }).run(sendCard, input, { signals });
  expect(seconds).toBe((Date.parse(birthday) - startsAt.getTime()) / 1_000);
  const mails = world.of("mail/send");
  expect(mails.slice(0, 3).map(({ yes, no }) => URL.canParse(`${yes}`) && yes !== no)).toEqual([true, true, true]);
  expect(mails[3]).toMatchObject({
    to: "a@b.co",
    replies: [{ reply: "yes" }, { reply: "no-response" }, { reply: "no" }],
  });
});

test("each friend is asked once and one card is sent, wherever the worker dies", async () => {
  begin();
  const check = ({ status }: { status: string }) => {
    expect([status, world.of("mail/send").length]).toEqual(["completed", 2]);
    begin();
  };
  const one = { ...input, friends: ["b@b.co"] };
  await testKit([sendCard], { startsAt }).crashEverywhere(sendCard, one, check, { signals: signals.slice(0, 1) });
});
