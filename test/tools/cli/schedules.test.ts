import { describe, expect, test } from "vitest";
import { type Answer, problem, programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({ schedules: () => import("../../../src/tools/cli/schedule-commands.ts") });

const id = "0f4f0b5e-6c4b-5d0c-9d0e-2f9a8f3f7c55";
const schedule = (more: object = {}) => ({
  schedule_id: id,
  name: "daily-report",
  source: "api",
  for_each_tenant: false,
  cron: "0 2 * * *",
  every_seconds: null,
  timezone: "Europe/Berlin",
  enabled: true,
  task: { type: "report.daily", input: {} },
  next_run_at: "2027-01-02T01:00:00.000Z",
  last_run_at: null,
  skipped: 2,
  last_error: null,
  ...more,
});
const listed: Answer = { json: { schedules: [schedule()], next_cursor: null } };

describe("schedules list", () => {
  test("the list is a table", async () => {
    const paused = schedule({ name: "other", cron: null, every_seconds: 60, enabled: false, next_run_at: null });
    await using api = await StubApi.start(() => ({ json: { schedules: [schedule(), paused], next_cursor: null } }));
    const { code, out } = await offload(api.url, ["schedules", "list"]);
    expect(code).toBe(0);
    expect(out.split("\n")).toMatchObject([
      expect.stringMatching(/^NAME +FROM +RULE +TIMEZONE +TASK +NEXT +LAST +SKIPPED +ERROR$/),
      expect.stringMatching(
        /^daily-report +api +0 2 \* \* \* +Europe\/Berlin +report.daily +2027-01-02T01:00:00.000Z +- +2 +-$/,
      ),
      expect.stringMatching(/^other +api +every 60 s +Europe\/Berlin +report.daily +paused/),
      "",
    ]);
  });

  test("the list says when it is empty, and when there are more", async () => {
    await using none = await StubApi.start(() => ({ json: { schedules: [], next_cursor: null } }));
    expect((await offload(none.url, ["schedules", "list"])).out).toBe("No schedules.\n");
    await using more = await StubApi.start(() => ({ json: { schedules: [schedule()], next_cursor: "c" } }));
    const { out, notes } = await offload(more.url, ["schedules", "list", "--limit", "1", "--json"]);
    expect(JSON.parse(out).schedules).toHaveLength(1);
    expect(notes).toContain("more than 1");
  });
});

describe("schedules create", () => {
  test("the request has exactly the given options", async () => {
    await using api = await StubApi.start(() => ({ status: 201, json: schedule() }));
    const rule = ["--cron", "0 2 * * *", "--timezone", "Europe/Berlin", "--ends-at", "2028-01-01T00:00:00Z"];
    const task = [
      "--type",
      "report.daily",
      "--input",
      '{"days":1}',
      "--priority",
      "low",
      "--tag",
      "a=b",
      "--tag",
      "c=d=e",
    ];
    const rest = ["--overlap", "skip", "--alarm", "--paused"];
    const { code, out } = await offload(api.url, ["schedules", "create", "daily-report", ...rule, ...task, ...rest]);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^schedule_id +${id}\n`));
    expect(api.seen).toMatchObject([{ method: "POST", path: "/schedules" }]);
    expect(api.seen[0]?.body).toEqual({
      name: "daily-report",
      cron: "0 2 * * *",
      timezone: "Europe/Berlin",
      ends_at: "2028-01-01T00:00:00Z",
      overlap: "skip",
      alarm: true,
      enabled: false,
      task: { type: "report.daily", input: { days: 1 }, priority: "low", tags: { a: "b", c: "d=e" } },
    });
  });

  test("put sends the whole schedule to its name", async () => {
    await using api = await StubApi.start(() => ({ json: schedule() }));
    await offload(api.url, ["schedules", "put", "my/report", "--every", "60", "--type", "t", "--paused"]);
    const body = { every_seconds: 60, enabled: false, task: { type: "t" } };
    expect(api.seen).toMatchObject([{ method: "PUT", path: expect.stringMatching(/~my(%2F|\/)report$/), body }]);
    expect(api.seen[0]?.body).not.toHaveProperty("name");
  });

  test("a schedule can have a rate, and no input", async () => {
    await using api = await StubApi.start(() => ({ status: 201, json: schedule() }));
    await offload(api.url, ["schedules", "create", "often", "--every", "60", "--type", "t"]);
    expect(api.seen[0]?.body).toEqual({
      name: "often",
      every_seconds: 60,
      enabled: true,
      task: { type: "t" },
    });
  });

  test.each([
    ["--input", "{"],
    ["--input", '{"a":[1e400]}'],
    ["--input", "12345678901234567890"],
    ["--every", "soon"],
    ["--tag", "x"],
  ])("%s %s is a misuse", async (...option) => {
    await using api = await StubApi.start(() => ({ json: schedule() }));
    const { code } = await offload(api.url, ["schedules", "create", "n", "--type", "t", ...option]);
    expect(code).toBe(2);
    expect(api.seen).toEqual([]);
  });

  test("an input with a number that would change is refused with the advice to send text", async () => {
    const { notes } = await offload("http://127.0.0.1:1", [
      ...["schedules", "create", "n", "--type", "t", "--every", "60"],
      ...["--input", '{"a":{"b":12345678901234567890}}'],
    ]);
    expect(notes).toBe("offload: --input: a.b: this number is too large to be kept exactly; send it as text\n");
  });

  test("the command shows the server's reason for a refusal", async () => {
    await using api = await StubApi.start(() => problem(422, "invalid_input", "cron: the rule never fires"));
    const { code, notes } = await offload(api.url, ["schedules", "create", "n", "--type", "t", "--cron", "0 0 31 2 *"]);
    expect({ code, notes }).toEqual({ code: 1, notes: "offload: cron: the rule never fires (422 invalid_input)\n" });
  });
});

describe("one schedule", () => {
  test.each([
    ["show", "GET", "", undefined],
    ["pause", "POST", "/pause", {}],
    ["resume", "POST", "/resume", {}],
    ["run", "POST", "/run", {}],
    ["delete", "DELETE", "", undefined],
  ])("%s takes a name or an id", async (command, method, path, body) => {
    for (const by of ["daily-report", id]) {
      await using api = await StubApi.start((request) => {
        if (request.path === "/schedules") return listed;
        return request.method === "DELETE" ? { status: 204, text: "" } : { json: schedule() };
      });
      const { code } = await offload(api.url, ["schedules", command, by]);
      expect(code).toBe(0);
      expect(api.seen).toHaveLength(by === id ? 1 : 2);
      expect(api.seen.at(-1)).toMatchObject({ method, path: `/schedules/${id}${path}`, body });
    }
  });

  test("the command fails for a schedule that does not exist", async () => {
    await using api = await StubApi.start(() => listed);
    const { code, notes } = await offload(api.url, ["schedules", "show", "other"]);
    expect({ code, notes }).toEqual({ code: 1, notes: 'offload: there is no schedule named "other"\n' });
  });

  test("a name that the code and a client have is refused with both ids", async () => {
    const other = { ...schedule(), schedule_id: "7d1c1bd4-2b6f-5a53-9c2e-6d4b0a1f9e11", source: "code" };
    await using api = await StubApi.start(() => ({ json: { schedules: [other, schedule()], next_cursor: null } }));
    const { code, notes } = await offload(api.url, ["schedules", "pause", "daily-report"]);
    expect(code).toBe(1);
    expect(notes).toContain("two schedules are named");
    expect(notes).toContain(id);
    expect(notes).toContain(other.schedule_id);
  });

  test("--json prints the schedule", async () => {
    await using api = await StubApi.start(() => ({ json: schedule() }));
    expect(JSON.parse((await offload(api.url, ["schedules", "show", id, "--json"])).out)).toEqual(schedule());
  });
});

describe("schedules preview", () => {
  test("the command prints the times", async () => {
    const next = ["2027-03-27T01:30:00.000Z", "2027-03-29T00:30:00.000Z"];
    await using api = await StubApi.start(() => ({ json: { next } }));
    const rule = ["--cron", "30 2 * * *", "--timezone", "Europe/Berlin"];
    const rest = ["--from", "2027-03-26T12:00:00Z", "--count", "2"];
    const { code, out } = await offload(api.url, ["schedules", "preview", ...rule, ...rest]);
    expect({ code, out }).toEqual({ code: 0, out: `${next.join("\n")}\n` });
    expect(api.seen).toMatchObject([{ method: "POST", path: "/schedules/preview" }]);
    expect(api.seen[0]?.body).toEqual({
      cron: "30 2 * * *",
      timezone: "Europe/Berlin",
      from: "2027-03-26T12:00:00Z",
      count: 2,
    });
  });

  test("the command says when there are no times", async () => {
    await using api = await StubApi.start(() => ({ json: { next: [] } }));
    expect((await offload(api.url, ["schedules", "preview", "--cron", "* * * * *"])).out).toBe("Never.\n");
  });
});

describe("schedules change", () => {
  test("a new cron takes the place of an interval; what is not given stays", async () => {
    await using api = await StubApi.start(() => ({ json: schedule() }));
    const { code } = await offload(api.url, ["schedules", "change", id, "--cron", "0 4 * * *", "--overlap", "skip"]);
    expect(code).toBe(0);
    expect(api.seen).toMatchObject([{ method: "PATCH", path: `/schedules/${id}` }]);
    expect(api.seen[0]?.body).toEqual({ cron: "0 4 * * *", every_seconds: null, overlap: "skip" });
  });

  test("an alarm is asked for and taken back", async () => {
    await using api = await StubApi.start(() => ({ json: schedule() }));
    await offload(api.url, ["schedules", "change", id, "--alarm"]);
    await offload(api.url, ["schedules", "change", id, "--no-alarm"]);
    expect(api.seen.map(({ body }) => body)).toEqual([{ alarm: true }, { alarm: false }]);
  });

  test("a change of the input keeps the rest of the task", async () => {
    const task = { type: "report.daily", input: { days: 1 }, priority: "low", max_attempts: 3, tags: { team: "red" } };
    await using api = await StubApi.start((_, index) => (index === 0 ? listed : { json: schedule({ task }) }));
    const { code } = await offload(api.url, ["schedules", "change", "daily-report", "--input", '{"days":2}']);
    expect(code).toBe(0);
    expect(api.seen.map(({ method }) => method)).toEqual(["GET", "GET", "PATCH"]);
    expect(api.seen[2]?.body).toEqual({ task: { ...task, input: { days: 2 } } });
  });

  test("nothing to change is a mistake, and nothing is sent", async () => {
    await using api = await StubApi.start(() => ({ json: schedule() }));
    const { code, notes } = await offload(api.url, ["schedules", "change", id]);
    expect(code).toBe(2);
    expect(notes).toContain("nothing to change");
    expect(api.seen).toEqual([]);
  });
});

describe("schedules next", () => {
  test("prints a time a line", async () => {
    const next = ["2027-01-02T01:00:00.000Z", "2027-01-03T01:00:00.000Z"];
    await using api = await StubApi.start(() => ({ json: { next } }));
    expect((await offload(api.url, ["schedules", "next", id, "--count", "2"])).out).toBe(`${next.join("\n")}\n`);
    expect(api.seen).toMatchObject([{ path: `/schedules/${id}/next`, query: { count: "2" } }]);
  });
});
