import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, epoch, expectStatus, until } from "../support/http-client.ts";
import { startTimelyServer, type TimelyServer } from "../support/timely-server.ts";
import { operator as caller, uniqueTags } from "./callers.ts";
import { deployed } from "./command-line.ts";

// A minute passes: on a machine, the test lets it pass; in a deployment, it waits.
describe("a schedule that fires", () => {
  let server: TimelyServer | undefined;
  let operator: Client;
  beforeAll(async () => {
    server = deployed ? undefined : await startTimelyServer();
    operator = server?.operator ?? caller;
  });
  afterAll(() => server?.stop());

  test("a schedule submits exactly one task for the scheduled time", async ({ onTestFinished }) => {
    const { tags, query } = uniqueTags();
    const task = { type: "probe.echo", input: { value: "on time" }, tags };
    const body = { name: `e2e-${randomUUID()}`, cron: "* * * * *", task };
    // The emulated table of a busy machine may answer too late.
    const created = await until("the schedule", async () => {
      const answer = await operator.post("/schedules", body);
      return answer.status === 503 ? undefined : answer;
    });
    const { schedule_id } = expectStatus(created, 201).json<{ schedule_id: string }>();
    const path = `/schedules/${schedule_id}`;
    onTestFinished(async () => {
      await operator.send("DELETE", path);
    });
    const due = epoch(String((await operator.get(path)).json().next_run_at));
    expect(due % 60_000).toBe(0);

    const fired = async () => ((await operator.list(query)).length > 0 ? true : undefined);
    // A deployed scheduler fires within the minute.
    if (server === undefined) await until("the firing", fired, due - Date.now() + 90_000);
    else await server.passUntil("the firing", fired);
    expectStatus(await operator.send("PATCH", path, { body: { enabled: false } }), 200);
    const tasks = (await operator.list(query)).toReversed();
    const [first] = tasks;
    expect(first).toMatchObject({ schedule_id, type: "probe.echo" });
    expect(epoch(first?.scheduled_for)).toBe(due);
    expect(epoch(first?.created_at)).toBeGreaterThanOrEqual(due);
    // A slow machine may see a minute more.
    const times = tasks.map(({ scheduled_for }) => scheduled_for);
    expect(new Set(times).size).toBe(tasks.length);
    expect(await operator.ended(first?.task_id ?? "")).toMatchObject({ status: "completed", result: task.input });
    const schedule = (await operator.get(path)).json<{ last_run_at: string; last_task_id: string }>();
    expect(schedule).toMatchObject({ last_task_id: tasks.at(-1)?.task_id });
    expect(epoch(schedule.last_run_at)).toBeGreaterThanOrEqual(due);
  });
});
