import { describe, expect, test } from "vitest";
import { changeInput } from "../../../src/core/control/change-waiting.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

const setUp = () => {
  const ran: unknown[] = [];
  const type = typeOf((input) => {
    ran.push(input);
    return "result";
  });
  return { ...memoryPipeline([type]), ran };
};

describe("the input of a waiting task", () => {
  test.each([
    ["a small one", { n: 2 }],
    ["a large one", { text: "y".repeat(50_000) }],
  ])("becomes %s, with which its attempt runs", async (_, input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 } });
    await changeInput(pipeline.ports, record, { input, version: 1 });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([input]);
  });

  test("changes twice: the last one counts", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 60 });
    const second = await changeInput(pipeline.ports, record, { input: { n: 2 }, version: 1 });
    await changeInput(pipeline.ports, second, { input: { n: 3 }, version: 1 });
    await pipeline.clock.advance(61_000);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([{ n: 3 }]);
  });

  test("does not change once the task has ended", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 } });
    await pipeline.drain();
    const given = { input: { n: 2 }, version: 1 };
    await expect(changeInput(pipeline.ports, record, given)).rejects.toMatchObject({ code: "conflict" });
  });
});
