import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Accepted, expectStatus, until } from "../support/http-client.ts";
import { operator } from "./callers.ts";
import { noQueueAccess, queueAccess } from "./queue-access.ts";

/** Characters that a queue refuses, or that are easily damaged on the way, and texts that look like their escapes. */
const texts: [name: string, text: string][] = [
  ["U+FFFE", "a\ufffeb"],
  ["U+FFFF", "\uffff"],
  ["a lone high surrogate", "a\ud800"],
  ["a lone low surrogate", "\udc00b"],
  ["NUL", "a\0b"],
  ["U+0001", "\u0001"],
  ["all control characters", Array.from({ length: 33 }, (_, code) => String.fromCharCode(code)).join("")],
  ["an emoji", "🧾👩‍👩‍👧"],
  ["characters beyond the basic plane that are none", "\u{1fffe}\u{10ffff}"],
  ["line separators and a byte order mark", "\u2028\u2029\ufeff"],
  ["escapes", "\\ufffe \\\ufffe \\\\\uffff"],
];
const everything = texts.map(([, text]) => text).join(" ");

/** Values as clients receive them: a lone surrogate has no UTF-8 form, so JSON has it as an escape. */
const value = (text: string) => ({ text, [text]: [text] });

describe.concurrent("characters", () => {
  test.for(texts)("an input with %s comes back unchanged, at once and after a delay", async ([, text]) => {
    const input = { value: value(text) };
    const accepted = [
      await operator.submit("probe.echo", input),
      await operator.submit("probe.echo", input, { delay_seconds: 1 }),
    ];
    for (const { task_id } of accepted) {
      expect(await operator.ended(task_id)).toMatchObject({ status: "completed", attempts: 1, result: input });
    }
  });

  test.for([{}, { delay_seconds: 2 }])("an input with all of them and a key makes one task (%j)", async (options) => {
    const input = { value: value(everything) };
    const headers = { "idempotency-key": randomUUID() };
    const submit = async () => {
      const answer = await operator.post("/tasks", { type: "probe.echo", input, ...options }, headers);
      return expectStatus(answer, 202).json<Accepted>();
    };
    const { task_id } = await submit();
    expect((await submit()).task_id).toBe(task_id);
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", attempts: 1, result: input });
  });

  test("a long wait with such an input is accepted", async () => {
    const input = { value: value(everything) };
    const { task_id } = await operator.submit("probe.echo", input, { delay_seconds: 3_600 });
    expect(await operator.task(task_id)).toMatchObject({ status: "scheduled" });
    expectStatus(await operator.post(`/tasks/${task_id}/cancel`), 200);
  });

  test("the DLQ has a task's input and error with all of them", async (context) => {
    const queues = await queueAccess();
    if (queues === undefined) return context.skip(noQueueAccess);
    const input = { kind: "permanent", message: everything };
    const { task_id } = await operator.submit("probe.fail", input, { priority: "high", max_attempts: 1 });
    expect(await operator.ended(task_id)).toMatchObject({ status: "failed", error: everything.toWellFormed() });
    const body = await queues.deadLetter("high", (letter) => letter.includes(task_id));
    expect(JSON.parse(body)).toMatchObject({
      failure_reason: everything.toWellFormed(),
      original_message: { task_id, input },
    });
  });

  test.for(texts)("a task that fails with %s in its error is a dead letter, and can be replayed", async ([, text]) => {
    const input = { kind: "permanent", message: `broken: ${text}.`, times: 1 };
    const options = { priority: "high", max_attempts: 1 };
    const { task_id } = await operator.submit("probe.fail", input, options);
    const failed = await operator.ended(task_id);
    // DynamoDB stores texts as UTF-8, which has no lone surrogates.
    const message = input.message.toWellFormed();
    expect(failed).toMatchObject({ status: "failed", error: message });
    const letters = await until("the dead letter in the list", async () => {
      const { dead_letters } = expectStatus(await operator.get("/dead-letters?priority=high&limit=100"), 200).json<{
        dead_letters: { task_id: string }[];
      }>();
      const own = dead_letters.filter((letter) => letter.task_id === task_id);
      return own.length > 0 ? own : undefined;
    });
    expect(letters).toMatchObject([{ error: message, input }]);
    expectStatus(await operator.post("/dead-letters/replay", { task_ids: [task_id] }), 202);
    await operator.waitFor(task_id, ({ status }) => status === "completed");
    expect(await operator.attempts(task_id)).toMatchObject([{ outcome: "failed" }, { outcome: "completed" }]);
  });
});
