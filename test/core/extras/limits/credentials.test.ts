import { describe, expect, onTestFinished, test } from "vitest";
import { groupDeadLetters } from "../../../../src/core/control/group-dead-letters.ts";
import type { ClassifyRule } from "../../../../src/core/model/classify.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { Receiver } from "../../../support/receiver.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(limits);

/** As in docs/errors.md. */
const refused: ClassifyRule = (error) =>
  error instanceof Response && [401, 403].includes(error.status) ? "permanent" : undefined;

/** A type that calls another service over HTTP. The service answers with `answer.status`. */
async function setUp(status: number, more: Partial<TaskType>) {
  const service = await Receiver.start(0);
  onTestFinished(() => service.close());
  const answer = { status };
  const url = service.url(() => answer.status);
  const type = typeOf(async (_input, { signal }) => {
    const response = await fetch(url, { method: "POST", body: "{}", signal });
    if (!response.ok) throw response;
  }, more);
  const pipeline = memoryPipeline([type]);
  const acceptMany = async (count: number) => {
    for (let n = 0; n < count; n++) await pipeline.accept();
  };
  const workAll = async () => {
    while ((await pipeline.work()).length > 0);
  };
  const counts = () => {
    const found = { completed: 0, failed: 0, behind: 0, retried: 0 };
    for (const { status, waiting_for: waitsFor, error } of pipeline.records.all()) {
      if (status === "completed" || status === "failed") found[status] += 1;
      else if (waitsFor?.kind === "breaker") found.behind += 1;
      else if (error !== undefined) found.retried += 1;
    }
    return found;
  };
  const groups = async () => (await groupDeadLetters(pipeline.ports, "acme", {})).groups;
  return { ...pipeline, answer, calls: () => service.at(url).length, acceptMany, workAll, counts, groups };
}

describe.each([401, 403])("a service that answers a fetch with %d", (status) => {
  test("is tried again until the attempts are used up, as a new credential may come", async () => {
    const { accept, drain, calls, groups } = await setUp(status, { maxAttempts: 3 });
    await accept();
    await drain();
    expect(calls()).toBe(3);
    expect(await groups()).toMatchObject([
      { error_type: `HTTP ${status}`, error_kind: "transient", hint: "credentials" },
    ]);
  });

  test("is called once a task, where the type's rule says that it is permanent", async () => {
    const { acceptMany, drain, calls, groups } = await setUp(status, { classify: [refused] });
    await acceptMany(5);
    await drain();
    expect(calls()).toBe(5);
    expect(await groups()).toMatchObject([{ count: 5, error_kind: "permanent", hint: "credentials" }]);
  });

  test("is called ten times, where the type has a breaker; the tasks wait, and all complete with the new credential", async () => {
    const { acceptMany, workAll, drain, calls, counts, answer } = await setUp(status, {
      breaker: { failures: 10, coolDownSeconds: 600 },
    });
    await acceptMany(60);
    await workAll();
    expect(calls()).toBe(10);
    expect(counts()).toEqual({ completed: 0, failed: 0, behind: 50, retried: 10 });
    answer.status = 204;
    await drain();
    expect(counts()).toEqual({ completed: 60, failed: 0, behind: 0, retried: 0 });
    expect(calls()).toBe(70);
  });

  test("costs ten dead letters, where the type has both; no further task fails but for one in each cool-down", async () => {
    const { acceptMany, workAll, drain, calls, counts, groups, answer, clock } = await setUp(status, {
      classify: [refused],
      breaker: { failures: 10, coolDownSeconds: 600 },
    });
    await acceptMany(60);
    await workAll();
    expect(counts()).toEqual({ completed: 0, failed: 10, behind: 50, retried: 0 });
    for (const untilMs = clock.now() + 3_600_000; clock.now() < untilMs; ) {
      await clock.advance(60_000);
      await workAll();
    }
    expect(calls()).toBeGreaterThanOrEqual(14);
    expect(calls()).toBeLessThanOrEqual(16);
    const lost = calls();
    expect(await groups()).toMatchObject([{ count: lost, error_kind: "permanent", hint: "credentials" }]);
    answer.status = 204;
    await drain();
    expect(counts()).toEqual({ completed: 60 - lost, failed: lost, behind: 0, retried: 0 });
  });
});
