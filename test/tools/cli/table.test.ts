import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { span, when } from "../../../src/tools/cli/age.ts";
import type { Terminal } from "../../../src/tools/cli/terminal.ts";
import { fields, table } from "../../../src/tools/cli/text-table.ts";
import { quietTerminal } from "../../support/quiet-terminal.ts";
import { programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({ tasks: () => import("../../../src/tools/cli/task-commands.ts") });

const screen: Terminal = { ...quietTerminal, width: 80, colour: (name, text) => `<${name}>${text}</>` };
const headings = ["task", "status", "created", "error"];
const long = "the relay said no, and it said so at great length, again and again";

afterEach(() => vi.useRealTimers());

describe("ages", () => {
  test.for([
    [0, "0 s"],
    [119, "119 s"],
    [120, "2 min"],
    [7_199, "120 min"],
    [7_200, "2 h"],
    [86_400 * 3, "3 d"],
  ] as const)("%i s is %s", ([seconds, text]) => {
    expect(span(seconds)).toBe(text);
  });

  test("a time is before or after now", () => {
    const now = Date.parse("2027-01-01T00:00:00.000Z");
    expect(when("2026-12-31T23:57:00.000Z", now)).toBe("3 min ago");
    expect(when("2027-01-01T02:00:00.000Z", now)).toBe("in 2 h");
    expect(when("2027-01-01T00:00:00.000Z", now)).toBe("now");
  });
});

describe("tables", () => {
  const created = "2027-01-01T00:00:00.000Z";
  const rows = [["task-1", "failed", created, long]];
  const at = (time: string) => vi.useFakeTimers({ now: Date.parse(time) });

  test("a terminal gets ages, colours and lines that fit", () => {
    at("2027-01-01T00:05:00.000Z");
    const [, line = ""] = table(headings, rows, { terminal: screen }).split("\n");
    expect(line).toMatch(/^task-1 {2}<red>failed<\/> {2}5 min ago {2}the relay said no, and .*…$/);
    expect(line.replaceAll(/<[^>]*>/g, "")).toHaveLength(80);
  });

  test("a pipe gets exact times, no colours, and cells of at most 60 characters", () => {
    const [, line = ""] = table(headings, rows, { terminal: quietTerminal }).split("\n");
    expect(line).toBe(`task-1  failed  ${created}  ${long.slice(0, 59)}…`);
  });

  test("--utc prints exact times on a terminal", () => {
    expect(table(headings, rows, { terminal: { ...screen, width: 200 }, utc: true })).toContain(created);
    expect(fields([["created_at", created]], { terminal: screen, utc: true })).toBe(`created_at  ${created}`);
  });

  test("fields have the exact time and the age", () => {
    at("2027-01-01T00:05:00.000Z");
    expect(fields([["created_at", created]], { terminal: screen })).toBe(`created_at  ${created} (5 min ago)`);
  });

  test("a cut status keeps its colour", () => {
    const wide = [["x".repeat(60), "cancelled", created, long]];
    expect(table(headings, wide, { terminal: { ...screen, width: 90 } })).toMatch(/<yellow>canc.*…<\/>/);
  });

  test("a narrow terminal gets a block for each row, with whole ids and lines that fit", () => {
    at("2027-01-01T00:05:00.000Z");
    const id = "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11";
    const names = ["task", "type", "status", "tier", "created", "error"];
    const narrow = { ...screen, width: 60 };
    const tasks = [
      [id, "mail.send", "failed", "normal", created, long],
      [id, "mail.send", "completed", "normal", created, null],
    ];
    expect(table(names, tasks, { terminal: narrow }).split("\n")).toEqual([
      `task     ${id}`,
      "type     mail.send",
      "status   <red>failed</>",
      "tier     normal",
      "created  5 min ago",
      `error    ${long.slice(0, 50)}…`,
      "",
      `task     ${id}`,
      "type     mail.send",
      "status   <green>completed</>",
      "tier     normal",
      "created  5 min ago",
    ]);
  });

  test("tasks list takes --utc, and its JSON is exact", async () => {
    const task = { task_id: "task-1", type: "a", status: "failed", created_at: created };
    await using api = await StubApi.start(() => ({ json: { tasks: [task], next_cursor: null } }));
    const shown = (...args: string[]) =>
      offload(api.url, ["tasks", "list", ...args], undefined, { width: 120, colour: screen.colour });
    expect((await shown()).out).not.toContain(created);
    expect((await shown("--utc")).out).toContain(created);
    expect(JSON.parse((await shown("--json")).out)).toEqual({ tasks: [task], complete: true });
  });
});

describe("the terminal of the process", () => {
  const colourWith = (env: Record<string, string>): string => {
    const file = JSON.stringify(resolve("src/tools/cli/terminal.ts"));
    const code = `const { systemTerminal } = await import(${file}); const t = systemTerminal();`;
    const print = "t.out(JSON.stringify([t.colour('red', 'x'), t.width ?? null, t.live]))";
    const { NO_COLOR: _, FORCE_COLOR: __, ...rest } = process.env;
    const args = ["--input-type=module", "-e", `${code} ${print}`];
    const options = { env: { ...rest, ...env }, encoding: "utf8", timeout: 120_000 } as const;
    return spawnSync(process.execPath, args, options).stdout.trim();
  };

  test("a pipe has no width and no colour, unless FORCE_COLOR asks for it", () => {
    expect(colourWith({})).toBe('["x",null,false]');
    expect(colourWith({ NO_COLOR: "1" })).toBe('["x",null,false]');
    expect(colourWith({ FORCE_COLOR: "1" })).toBe(JSON.stringify(["\u001b[31mx\u001b[39m", null, false]));
  });
});
