import { describe, expect, test } from "vitest";
import { redacted } from "../../../src/core/task/handler-log.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

const input = { card: "4111 1111 1111 1111", owner: { name: "Ada Lovelace", cvc: 737 }, notes: ["gift", "for Bo"] };

/** Runs a handler that logs and throws what it can lay hands on, and gives what was logged. */
async function loggedBy(sensitive: boolean) {
  const type = typeOf(
    (given, task) => {
      const { card, owner } = given as typeof input;
      task.log.info(`charging ${card} of ${owner.name}`, { card, owner, given, [card]: 1 });
      throw new Error(`the card ${card} was declined`);
    },
    { sensitive, maxAttempts: 1 },
  );
  const { accept, work, log, recordOf } = memoryPipeline([type]);
  const record = await accept({ input });
  await work();
  // Ids are by chance, and may have the digits of a secret.
  const text = JSON.stringify(log.lines).replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "ID");
  return { lines: log.lines, text, record: await recordOf(record) };
}

describe("the log of a sensitive type", () => {
  test("the log of a sensitive type has nothing of its input", async () => {
    const { lines, text } = await loggedBy(true);
    for (const secret of ["4111", "Ada", "737", "Bo"]) expect(text).not.toContain(secret);
    expect(lines.find(({ message }) => message.startsWith("charging"))).toMatchObject({
      message: `charging ${redacted} of ${redacted}`,
      fields: { card: redacted, owner: redacted, given: redacted, [redacted]: redacted, tenant_id: "acme" },
    });
  });

  test("the log still says how an attempt failed, and the record says why", async () => {
    const { lines, record } = await loggedBy(true);
    expect(lines.find(({ message }) => message === "attempt settled")?.fields).toMatchObject({
      outcome: "failed",
      error_kind: "transient",
      error_type: "Error",
    });
    expect(record.error).toBe("the card 4111 1111 1111 1111 was declined");
  });
});

test("the log of any other type has the error's message", async () => {
  const { lines } = await loggedBy(false);
  expect(lines.find(({ message }) => message === "attempt settled")?.fields).toMatchObject({
    error: "the card 4111 1111 1111 1111 was declined",
  });
});
