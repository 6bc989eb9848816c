import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus } from "../support/http-client.ts";
import { operator } from "./callers.ts";

const polls = 60;

describe("polling guard", () => {
  test("one caller that polls one task more than 10 times a second gets 429", async (context) => {
    const { task_id } = await operator.submit("probe.echo", { value: 1 });
    const path = `/tasks/${task_id}`;
    const begun = Date.now();
    const answers = await Promise.all(Array.from({ length: polls }, () => operator.get(path)));
    const perSecond = polls / ((Date.now() - begun) / 1000);
    context.skip(perSecond < 30, `this deployment answered only ${perSecond.toFixed(0)} polls a second`);

    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 200).length).toBe(polls - refused.length);
    for (const answer of refused) {
      expectProblem(answer, 429, "rate_limited");
      expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    }
    await sleep(1000 * Number(refused[0]?.headers.get("retry-after")) + 100);
    expectStatus(await operator.get(path), 200);
  });
});
