import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../chaos/random.ts";
import { VictimServer } from "../chaos/server.ts";
import { judge, type Seen } from "../key-kills/judge.ts";
import type { Accepted, Kind } from "../key-kills/load.ts";
import type { Did, Note } from "../key-kills/notes.ts";
import { play } from "../key-kills/play.ts";

test("keys in collect, restart and strict order keep their promises on a server that is killed", {
  timeout: 600_000,
}, async ({ onTestFinished }) => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-key-kills-"));
  const server = await VictimServer.prepare(stateDir, { OFFLOAD_TASKS: "test/key-kills/tasks" });
  onTestFinished(async () => {
    await server.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });
  await server.start();
  const { violations, figures } = await play({
    ...{ submits: 400, keys: 10, kills: 4, random: seededRandom(1), server },
    giveUpAt: Date.now() + 580_000,
  });
  expect(violations).toEqual([]);
  expect(figures).toMatchObject({ "kills of the server": 4 });
});

describe("the judge finds", () => {
  /** What was seen of two submits, one after the other. */
  const seen = (kind: Kind, notes: readonly Note[], more: { tasks?: string[]; collected?: number[] } = {}): Seen => {
    const { tasks = ["t0", "t1"], collected = [] } = more;
    const accepted = tasks.map(
      (task, number): Accepted => ({
        ...{ number, task, sentAt: 2 * number + 1, answeredAt: 2 * number + 2 },
        ...(collected[number] !== undefined && { collected: collected[number] }),
      }),
    );
    return {
      key: { name: "k", kind, count: 2, lanes: 1 },
      accepted,
      tasks: new Map(tasks.map((task_id) => [task_id, { task_id, status: "completed", error: null }])),
      notes,
    };
  };
  const start = (task: string, inputs: number[], pid = 1, attempt = 1): Did => ({
    ...{ what: "start", key: "k", task, attempt, pid, inputs },
  });
  const end = (task: string, inputs: number[], outcome: Did["outcome"] = "done", pid = 1): Did => ({
    ...start(task, inputs, pid),
    what: "end",
    outcome,
  });
  const ran = (task: string, inputs: number[]) => [start(task, inputs), end(task, inputs)];
  const killed = (...pids: number[]): Note => ({ what: "killed", pids });
  const list = { tasks: ["t0", "t0"], collected: [1, 2] };

  test("nothing where all is well", () => {
    expect(judge(seen("collect", ran("t0", [0, 1]), list))).toEqual([]);
    for (const kind of ["restart", "strict"] as const) {
      expect(judge(seen(kind, [...ran("t0", [0]), ...ran("t1", [1])]))).toEqual([]);
      const again = [start("t0", [0]), killed(1), start("t0", [0], 2, 2), { ...end("t0", [0], "done", 2), attempt: 2 }];
      expect(judge(seen(kind, [...again, ...ran("t1", [1])]))).toEqual([]);
    }
  });

  test.each<[string, Seen]>([
    ["in 0 handled lists", seen("collect", ran("t0", [0]), list)],
    ["in 2 handled lists", seen("collect", [...ran("t0", [0, 1]), ...ran("t9", [1])], list)],
    ["is behind 1", seen("collect", ran("t0", [1, 0]), { ...list, collected: [2, 1] })],
    ["is not number 2", seen("collect", ran("t0", [1, 0]), list)],
    ["got 0", seen("collect", [start("t0", [0]), killed(1), ...ran("t0", [0, 1])], list)],
    ["another one starts", seen("collect", [start("t0", [0]), ...ran("t1", [1])], { collected: [1, 1] })],
    ["while attempt 1 of t0 runs", seen("restart", [start("t0", [0]), ...ran("t1", [1]), end("t0", [0])])],
    ["after the start of t1", seen("restart", [start("t0", [0]), killed(1), start("t1", [1]), end("t0", [0])])],
    ["did not run to its end", seen("restart", [...ran("t0", [0]), start("t1", [1]), end("t1", [1], "stopped")])],
    ["ran with the input 0", seen("restart", ran("t0", [0]), { tasks: ["t0", "t0"] })],
    ["submitted after it", seen("restart", [...ran("t1", [1]), ...ran("t0", [0])])],
    ["which is not over", seen("strict", [start("t0", [0]), end("t0", [0], "again"), ...ran("t1", [1])])],
    ["submitted after it", seen("strict", [...ran("t1", [1]), ...ran("t0", [0])])],
  ])("%s", (text, one) => {
    expect(judge(one).join("\n")).toContain(text);
  });
});
