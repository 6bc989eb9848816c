import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { run } from "../../../src/tools/cli/main.ts";
import { readTop, topLines } from "../../../src/tools/cli/top-view.ts";
import { quietTerminal } from "../../support/quiet-terminal.ts";
import { type Answer, problem, programOf, type Seen, StubApi } from "./stub-api.ts";

const { offload } = programOf({ top: () => import("../../../src/tools/cli/top.ts") });

const queue = {
  visible: 3,
  in_flight: 1,
  delayed: 0,
  oldest_age_seconds: 7,
  retrying: 5,
  dead_letters: 2,
  paused: true,
  paused_since: null,
  refusing_since: "2027-01-01T00:00:00.000Z",
};
const group = {
  ...{ fingerprint: "f", type: "mail.send", error_type: "E", error_kind: "permanent", error: "no \u001b[31maddress" },
  ...{
    count: 500,
    first_failed_at: "2027-01-01T00:00:00.000Z",
    last_failed_at: "2027-01-01T00:00:00.000Z",
    task_id: "t",
  },
};
const task = {
  task_id: "t-1",
  type: "mail.send",
  status: "processing",
  progress: 42,
  created_at: "2027-01-01T00:00:00.000Z",
  error: null,
};
const stopped = {
  tenant_id: "globex",
  paused_since: "2027-01-01T00:00:00.000Z",
  breaker_open_until: null,
  breaker_open_since: null,
};
const paused = { name: "mail.send", paused: null, breaker: null, stopped_tenants: [stopped] };
const limited = {
  ...{ name: "crm.update", paused: null, breaker: null },
  waits_for_limit: { since: "2027-01-01T00:10:00.000Z", tasks: 50, complete: false },
};

const all: Record<string, Answer> = {
  "/identity": { json: { tenant_id: "acme", principal: "olga", role: "admin" } },
  "/queues": { json: { queues: { low: queue } } },
  "/tasks": { json: { tasks: [task], next_cursor: null } },
  "/dead-letters/groups": { json: { groups: [group], complete: true } },
  "/types": { json: { types: [paused, limited], tenant_paused_since: null } },
};
const answer =
  (other: Record<string, Answer> = {}) =>
  ({ path }: Seen): Answer =>
    other[path] ?? all[path] ?? { status: 500 };

describe("top", () => {
  test("prints queues, stopped types, what fails and the newest tasks, without escapes of theirs", async () => {
    await using api = await StubApi.start(answer());
    const { code, out } = await offload(api.url, ["top", "--once"]);
    expect(code).toBe(0);
    expect(out).toContain("All tenants, as olga (admin)");
    expect(out).toMatch(/low +3 +7 +1 +0 +5 +2 +paused/);
    expect(out).toMatch(/mail\.send +globex +2027-01-01T00:00:00\.000Z/);
    expect(out).toMatch(/crm\.update +50 or more +2027-01-01T00:10:00\.000Z/);
    expect(out).toMatch(/500 +mail\.send .*no .*address/);
    expect(out).toMatch(/t-1 +mail\.send +processing +42/);
    expect(out).not.toContain("\u001b");
  });

  test("leaves out what the role does not have, and says what cannot be read", async () => {
    const refused = problem(403, "forbidden", "This request requires the role admin.");
    const down = problem(503, "unavailable", "Try again later.");
    await using api = await StubApi.start(answer({ "/queues": refused, "/dead-letters/groups": down }));
    const { code, out } = await offload(api.url, ["top", "--once"]);
    expect(code).toBe(0);
    expect(out).not.toContain("TIER");
    expect(out).toContain("not readable now: Try again later.");
    expect(out).toContain("t-1");
  });

  test("says where it stopped early, and reads on where a page is empty", async () => {
    const more = { tasks: [], next_cursor: "next" };
    const late = ({ path, query }: Seen): Answer =>
      path === "/tasks" && query.cursor === undefined ? { json: more } : answer()({ path, query } as Seen);
    await using read = await StubApi.start(late);
    expect((await offload(read.url, ["top", "--once"])).out).toMatch(/t-1 +mail\.send/);
    await using api = await StubApi.start(
      answer({ "/tasks": { json: more }, "/dead-letters/groups": { json: { groups: [], complete: false } } }),
    );
    const { out } = await offload(api.url, ["top", "--once"]);
    expect(out).toContain("No dead letters among those that were read.");
    expect(out).toContain("No tasks among those that were read.");
    expect(out).toContain("No task that waits for another attempt among those that were read.");
    expect(out).toContain("Older dead letters are not counted");
  });

  test("prints JSON, and refuses a wrong interval", async () => {
    await using api = await StubApi.start(answer());
    const { out } = await offload(api.url, ["top", "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      caller: { value: { role: "admin" } },
      groups: { value: [{ count: 500 }] },
    });
    expect((await offload(api.url, ["top", "--interval", "0"])).code).toBe(2);
  });

  test("Ctrl-C ends it at once while the API does not answer, and gives the screen back", async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const server = createServer(() => ask());
    await once(server.listen(0, "127.0.0.1"), "listening");
    let written = "";
    let stop = () => {};
    const terminal = {
      ...quietTerminal,
      width: 80,
      draw: (text: string) => {
        written += text;
      },
      onInterrupt: (call: () => void) => {
        stop = call;
        return () => {};
      },
    };
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const running = run(["top", "--url", url, "--key", "key"], terminal);
    await asked;
    stop();
    expect(await running).toBe(0);
    expect(written).toBe("\u001b[?1049h\u001b[?25l\u001b[?25h\u001b[?1049l");
    server.closeAllConnections();
    server.close();
  });

  test("fits the width: no line of a frame breaks", async () => {
    const long = problem(503, "unavailable", "x".repeat(300));
    const who = { json: { tenant_id: "a".repeat(64), principal: "b".repeat(128), role: "admin" } };
    await using api = await StubApi.start(answer({ "/identity": who, "/types": long }));
    const terminal = { ...quietTerminal, width: 60 };
    const view = await readTop({ url: api.url, key: "key" });
    const lines = topLines(view, terminal);
    expect(lines.join("\n")).toContain("not readable now: xxx");
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(60);
  });

  test("draws on a screen of its own, again and again, and gives it back", async () => {
    await using api = await StubApi.start(answer());
    let written = "";
    let frames = 0;
    let stop = () => {};
    const terminal = {
      ...quietTerminal,
      width: 200,
      draw: (text: string) => {
        written += text;
      },
      onInterrupt: (call: () => void) => {
        stop = call;
        return () => {};
      },
      pause: async () => {
        if (++frames === 3) stop();
      },
    };
    expect(await run(["top", "--url", api.url, "--key", "key"], terminal)).toBe(0);
    expect(written.split("\u001b[H").length - 1).toBe(3);
    expect(written.startsWith("\u001b[?1049h\u001b[?25l")).toBe(true);
    expect(written.endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
  });
});
