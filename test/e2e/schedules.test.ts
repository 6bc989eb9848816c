import { randomUUID } from "node:crypto";
import { describe, expect, type onTestFinished, test } from "vitest";
import { type Accepted, epoch, expectProblem, expectStatus } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";

interface Schedule {
  schedule_id: string;
  name: string;
  enabled: boolean;
  timezone: string;
  next_run_at: string | null;
}

const task = { type: "probe.echo", input: { value: "from a schedule" } };
/** A rule that fires once a year, so never during a test. */
const rule = () => ({ name: `e2e-${randomUUID()}`, cron: "30 3 1 1 *", task });

describe.concurrent("schedules", () => {
  const remove = (id: string) => operator.send("DELETE", `/schedules/${id}`);

  /** Creates a schedule that is gone after the test. */
  async function created(body: Record<string, unknown>, onEnd: typeof onTestFinished): Promise<Schedule> {
    const answer = expectStatus(await operator.post("/schedules", body), 201);
    const schedule = answer.json<Schedule>();
    onEnd(async () => {
      await remove(schedule.schedule_id);
    });
    expect(answer.headers.get("location")).toBe(`/schedules/${schedule.schedule_id}`);
    return schedule;
  }

  test("a schedule is created, read, listed, changed and deleted", async ({ onTestFinished }) => {
    const body = { ...rule(), timezone: "Europe/Berlin" };
    const { schedule_id } = await created(body, onTestFinished);
    const path = `/schedules/${schedule_id}`;
    const read = expectStatus(await operator.get(path), 200).json<Schedule>();
    expect(read).toMatchObject({
      ...body,
      schedule_id,
      enabled: true,
      overlap: "allow",
      starts_at: null,
      ends_at: null,
      last_run_at: null,
      last_task_id: null,
      skipped: 0,
    });
    expect(new Date(epoch(read.next_run_at)).toISOString()).toMatch(/-01-01T02:30:00\.000Z$/);
    const listed = await operator.all<Schedule>("/schedules", "schedules");
    expect(listed.filter((schedule) => schedule.schedule_id === schedule_id)).toHaveLength(1);
    expectStatus(await operator.send("PATCH", path, { body: { enabled: false } }), 200);
    expect((await operator.get(path)).json()).toMatchObject({ enabled: false, cron: body.cron });
    expectStatus(await remove(schedule_id), 204);
    expectProblem(await operator.get(path), 404, "not_found");
    expectProblem(await remove(schedule_id), 404, "not_found");
  });

  test("the same name and body return the same schedule, and another body is a conflict", async ({
    onTestFinished,
  }) => {
    const body = rule();
    const { schedule_id } = await created(body, onTestFinished);
    const again = expectStatus(await operator.post("/schedules", body), 200);
    expect(again.json().schedule_id).toBe(schedule_id);
    const refused = await operator.post("/schedules", { ...body, cron: "0 4 * * *" });
    expectProblem(refused, 409, "conflict");
    expect(refused.json().schedule_id).toBe(schedule_id);
    const path = `/schedules/~${encodeURIComponent(body.name)}`;
    const put = (json: object) => operator.send("PUT", path, { body: json });
    expect(expectStatus(await put({ ...body, cron: "0 4 * * *" }), 200).json()).toMatchObject({ cron: "0 4 * * *" });
    expectStatus(await remove(`~${encodeURIComponent(body.name)}`), 204);
    expectStatus(await put(body), 201);
  });

  test("run submits a task now", async ({ onTestFinished }) => {
    const { schedule_id } = await created(rule(), onTestFinished);
    const { task_id } = expectStatus(await operator.post(`/schedules/${schedule_id}/run`), 202).json<Accepted>();
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", result: task.input, schedule_id });
  });

  test("next returns the given number of times", async ({ onTestFinished }) => {
    const { schedule_id } = await created({ ...rule(), cron: "0 0 29 2 *" }, onTestFinished);
    const answer = expectStatus(await operator.get(`/schedules/${schedule_id}/next?count=5`), 200);
    const { next } = answer.json<{ next: string[] }>();
    expect(next).toHaveLength(5);
    for (const time of next) expect(time).toMatch(/^\d{4}-02-29T00:00:00\.000Z$/);
    expect(next).toEqual(next.toSorted());
    for (const count of [0, 101, "x"]) {
      const refused = await operator.get(`/schedules/${schedule_id}/next?count=${count}`);
      expectProblem(refused, 422, "invalid_input");
    }
  });

  test("another tenant's schedule looks like one that never existed", async ({ onTestFinished }) => {
    const { schedule_id } = await created(rule(), onTestFinished);
    expectProblem(await stranger.get(`/schedules/${schedule_id}`), 404, "not_found");
    expectProblem(await stranger.get(`/schedules/${schedule_id}/next`), 404, "not_found");
    expectProblem(await stranger.post(`/schedules/${schedule_id}/run`), 404, "not_found");
    expectProblem(await stranger.send("DELETE", `/schedules/${schedule_id}`), 404, "not_found");
    const listed = await stranger.all<Schedule>("/schedules", "schedules");
    expect(listed.map((schedule) => schedule.schedule_id)).not.toContain(schedule_id);
    expectStatus(await operator.get(`/schedules/${schedule_id}`), 200);
  });

  test.for([
    { cron: undefined },
    { every_seconds: 60 },
    { cron: undefined, every_seconds: 59 },
    { cron: undefined, every_seconds: 90 },
    { cron: "* * * *" },
    { cron: "61 * * * *" },
    { cron: "0 12 * * 5L" },
    { cron: "0 0 1 * MON" },
    { timezone: "Mars/Olympus" },
    { overlap: "queue" },
    { colour: "red" },
    { name: "" },
    { starts_at: "9999-12-31T23:59:59-23:00" },
    { ends_at: "9999-12-31T23:59:59-23:00" },
    { cron: undefined, every_seconds: 60, starts_at: "9999-12-31T23:59:59Z" },
    { task: { type: "probe.sleep", input: { ms: -1 } } },
  ])("an impossible schedule is refused: %j", async (change) => {
    const answer = await operator.post("/schedules", { ...rule(), ...change });
    expectProblem(answer, 422, "invalid_input");
  });

  test("an unknown task type is refused", async () => {
    const body = { ...rule(), task: { type: "no.such.type", input: {} } };
    expectProblem(await operator.post("/schedules", body), 422, "unknown_task_type");
  });
});

describe.concurrent("preview", () => {
  async function preview(body: Record<string, unknown>, count: number): Promise<string[]> {
    const answer = expectStatus(await operator.post(`/schedules/preview?count=${count}`, body), 200);
    return answer.json<{ next: string[] }>().next;
  }

  test("a preview skips the local time that does not exist when clocks go forward", async () => {
    const body = { cron: "30 2 * * *", timezone: "Europe/Berlin", from: "2027-03-26T12:00:00.000Z" };
    expect(await preview(body, 3)).toEqual([
      "2027-03-27T01:30:00.000Z",
      "2027-03-29T00:30:00.000Z",
      "2027-03-30T00:30:00.000Z",
    ]);
  });

  test("a preview has one time when clocks go back", async () => {
    const body = { cron: "30 2 * * *", timezone: "Europe/Berlin", from: "2027-10-29T12:00:00.000Z" };
    expect(await preview(body, 3)).toEqual([
      "2027-10-30T00:30:00.000Z",
      "2027-10-31T00:30:00.000Z",
      "2027-11-01T01:30:00.000Z",
    ]);
  });

  test("a preview knows leap years, steps, ranges and names", async () => {
    const from = "2027-01-01T00:00:00.000Z";
    expect(await preview({ cron: "0 0 29 2 *", from }, 2)).toEqual([
      "2028-02-29T00:00:00.000Z",
      "2032-02-29T00:00:00.000Z",
    ]);
    const office = await preview({ cron: "*/15 9-17 * * MON-FRI", from: "2027-01-01T17:40:00.000Z" }, 3);
    expect(office).toEqual(["2027-01-01T17:45:00.000Z", "2027-01-04T09:00:00.000Z", "2027-01-04T09:15:00.000Z"]);
    const listed = await preview({ cron: "0 6,18 1 JAN,JUL *", from: "2027-02-01T00:00:00.000Z" }, 3);
    expect(listed).toEqual(["2027-07-01T06:00:00.000Z", "2027-07-01T18:00:00.000Z", "2028-01-01T06:00:00.000Z"]);
  });

  test.for(["0 12 * * 5L", "0 0 1 * MON", "@daily", ""])("%s is refused with the reason", async (cron) => {
    const { detail } = expectProblem(await operator.post("/schedules/preview", { cron }), 422, "invalid_input");
    expect(detail).toContain("cron");
  });
});
