import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import chat, { endOf } from "./tasks/flight.chat.ts";
import { world } from "./tasks/lib/world.ts";

const begin = () => world.begin({ "llm/answer": ({ messages }) => `answer ${(messages as unknown[]).length}` });
const signals = ["to Rome", "/done"].map((body, i) => ({ name: "message", body, afterSeconds: 60 * (i + 1) }));

test("each turn asks the model once, wherever the worker dies", async () => {
  begin();
  const check = ({ result }: { result: unknown }) => {
    const contents = (result as { messages: { content: string }[] }).messages.map(({ content }) => content);
    expect(contents).toEqual(["hello", "answer 1", "to Rome", "answer 3"]);
    expect(world.of("db/message").map(({ turn }) => turn)).toEqual([1, 2]);
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

test("the words of an answer reach the page while the model speaks", async () => {
  begin();
  const { attempts, timeline } = await testKit([chat]).run(chat, { message: "hello" }, { signals: signals.slice(1) });
  const steps = attempts[0]?.steps ?? [];
  const places = ["report progress", "step turn 1 returned", "step save 1 returned", "suspend"].map((step) =>
    steps.indexOf(step),
  );
  expect(
    places.toSorted((a, b) => a - b),
    timeline,
  ).toEqual(places);
});

test("each report has the end of what was said, and fits", () => {
  const said = ["Hello", "x".repeat(2_000), '"\n'.repeat(900), "と".repeat(900), "🚄".repeat(900)];
  for (const text of said) {
    const { at, words } = endOf(text);
    expect(text.slice(0, at) + words).toBe(text);
    expect(words.length).toBeGreaterThanOrEqual(Math.min(text.length, 250));
    expect(Buffer.byteLength(JSON.stringify({ turn: 1_000, at, words }))).toBeLessThanOrEqual(1_024);
  }
});
