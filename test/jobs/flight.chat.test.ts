import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import chat from "./tasks/flight.chat.ts";
import { world } from "./tasks/lib/world.ts";

const begin = () => world.begin({ "llm/answer": ({ messages }) => `answer ${(messages as unknown[]).length}` });
const signals = ["to Rome", "/done"].map((body, i) => ({ name: "message", body, afterSeconds: 60 * (i + 1) }));

test("each turn asks the model once, wherever the worker dies", async () => {
  begin();
  const check = ({ result }: { result: unknown }) => {
    const contents = (result as { messages: { content: string }[] }).messages.map(({ content }) => content);
    expect(contents).toEqual(["hello", "answer 1", "to Rome", "answer 3"]);
    expect(world.of("page/send").map(({ turn }) => turn)).toEqual([1, 2]);
    begin();
  };
  await testKit([chat]).crashEverywhere(chat, { message: "hello" }, check, { signals });
});

test("a model that is down three times loses no message", async () => {
  begin();
  world.refuse("llm/answer", [529, 500, 503]);
  const { result, attempts } = await testKit([chat]).run(chat, { message: "hello" }, { signals });
  expect([result?.messages.length, attempts.length]).toEqual([4, 1]);
});
