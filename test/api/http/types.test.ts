import { expect, test } from "vitest";
import * as z from "zod";
import { defineTask } from "../../../src/core/task/task.ts";
import { ask, gina, problem, served, sue } from "../../support/served.ts";

const resize = defineTask({
  name: "image.resize",
  description: "Makes an image smaller.",
  input: z.object({ width: z.int().min(1) }),
  output: z.object({ bytes: z.int() }),
  timeoutSeconds: 20,
  handler: () => ({ bytes: 1 }),
});
const send = defineTask({ name: "mail.send", input: z.object({ to: z.email() }), handler: () => "sent" });

test("GET /types lists the task types, for each role", async () => {
  const { control } = served([resize, send]);
  for (const as of [sue, gina]) {
    const answer = await ask(control, "/types", { as });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.json.types).toMatchObject([
      {
        name: "image.resize",
        description: "Makes an image smaller.",
        version: 1,
        priority: "normal",
        timeout_seconds: 20,
        max_attempts: 5,
        cancellable: true,
      },
      { name: "mail.send", output_schema: null },
    ]);
  }
});

test("a submit of an unknown type names the nearest types", async () => {
  const { submit } = served([resize, send]);
  const detailOf = async (type: string) => {
    const answer = await ask(submit, "/tasks", { json: { type, input: {} } });
    expect(answer).toMatchObject(problem(422, "unknown_task_type"));
    return String(answer.json.detail);
  };
  expect(await detailOf("image.rezise")).toBe(
    'type: no task type is named "image.rezise". Did you mean "image.resize"? GET /types lists the task types.',
  );
  expect(await detailOf("Mail.Send")).toContain('Did you mean "mail.send"?');
  expect(await detailOf("resize")).toContain('Did you mean "image.resize"?');
  expect(await detailOf("report.daily")).toBe(
    'type: no task type is named "report.daily". GET /types lists the task types.',
  );
});
