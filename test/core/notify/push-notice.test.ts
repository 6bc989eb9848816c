import { describe, expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { largestPushedResultBytes, messageOf, pushNotice } from "../../../src/core/notify/push-notice.ts";
import type { Posted } from "../../../src/core/ports/notify.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemorySlowHosts } from "../../../src/memory/deliveries.ts";
import { MemoryConnections, MemorySocket } from "../../../src/memory/push.ts";
import { changeNotice, endNotice } from "../../support/notices.ts";

const warnings: string[] = [];
const log = {
  debug() {},
  info() {},
  warn: (message: string) => void warnings.push(message),
  error() {},
  with: () => log,
};

async function push(count: number, connectedMsAgo = 60_000) {
  const clock = new FakeClock();
  const connections = new MemoryConnections(clock);
  const socket = new MemorySocket();
  const ids = Array.from({ length: count }, (_, index) => `c-${index}`);
  for (const connection_id of ids) {
    const connection = {
      connection_id,
      channel_id: `channel-${connection_id}`,
      tenant_id: "acme",
      principal: "olga",
      scope: "own",
      connected_at: new Date(clock.now() - connectedMsAgo).toISOString(),
    } as const;
    await connections.add(connection);
    await connections.announce(connection);
  }
  const slowHosts = new MemorySlowHosts();
  const ports = { clock, connections, socket, slowHosts, drops: new Map<string, number>(), random: () => 0, log };
  /** Pushes a notice, and lets the time of all waits pass. */
  const pushed = async (...[notice, result]: [Parameters<typeof pushNotice>[1], unknown?]) => {
    const working = pushNotice(ports, notice, result);
    for (let n = 0; n < 4; n++) await clock.advance(5_000);
    return working;
  };
  const answers = (connectionId: string, ...given: (Posted | Error)[]) =>
    socket.answers.set(connectionId, () => {
      const next = given.shift() ?? "sent";
      if (next instanceof Error) throw next;
      return next;
    });
  const receivers = () => socket.messages.map(({ connectionId }) => connectionId);
  return { ids, connections, pushed, answers, receivers, socket, ports, clock };
}

describe("messageOf", () => {
  test("an end has the fields of the contract", () => {
    const notice = endNotice({ task_id: "t", task: { status: "failed", outcome: "OVER_CAPACITY", progress: 40 } });
    expect(messageOf(notice)).toEqual({
      type: "task.failed",
      task_id: "t",
      status: "failed",
      outcome: "OVER_CAPACITY",
      progress: 40,
      at: "2027-01-01T00:00:01.000Z",
    });
  });

  test("a change has the same fields", () => {
    expect(messageOf(changeNotice({ task_id: "t" }))).toEqual({
      type: "task.progress",
      task_id: "t",
      status: "processing",
      outcome: null,
      progress: 40,
      at: "2027-01-01T00:00:01.000Z",
    });
  });

  test("the message and the data of a progress are added where there are any", () => {
    const note = { progress_message: "page 4 of 10", progress_data: { page: 4 } };
    expect(messageOf(changeNotice(note))).toMatchObject({ type: "task.progress", ...note });
    expect(messageOf(endNotice({ task: note }))).toMatchObject({ type: "task.completed", ...note });
    expect(messageOf(endNotice())).not.toHaveProperty("progress_message");
  });

  test("a result is added only when it is given, and is not too large", () => {
    expect(messageOf(endNotice())).not.toHaveProperty("result");
    expect(messageOf(endNotice(), null)).toHaveProperty("result", null);
    const largest = "ü".repeat((largestPushedResultBytes - 2) / 2);
    expect(messageOf(endNotice(), largest)).toHaveProperty("result", largest);
    expect(messageOf(endNotice(), `${largest}x`)).not.toHaveProperty("result");
    expect(messageOf(changeNotice(), "x")).not.toHaveProperty("result");
  });
});

describe("pushNotice", () => {
  test("a notice without a listening connection sends nothing", async () => {
    const { pushed, receivers } = await push(0);
    expect(await pushed(endNotice())).toEqual({ sent: 0, gone: 0, dropped: 0 });
    expect(receivers()).toEqual([]);
  });

  test("a notice reaches every connection once", async () => {
    const { ids, pushed, receivers } = await push(120);
    expect(await pushed(endNotice())).toEqual({ sent: 120, gone: 0, dropped: 0 });
    expect(receivers().sort()).toEqual(ids.sort());
  });

  test("no notice of another tenant or principal reaches a connection", async () => {
    const { pushed, receivers } = await push(3);
    await pushed(endNotice({ tenant_id: "globex" }));
    await pushed(changeNotice({ requested_by: "otto" }));
    expect(receivers()).toEqual([]);
  });

  test("a closed connection is removed, and the others get the message", async () => {
    const { pushed, answers, receivers, connections } = await push(3);
    answers("c-1", "gone");
    expect(await pushed(endNotice())).toEqual({ sent: 2, gone: 1, dropped: 0 });
    expect(receivers()).toEqual(["c-0", "c-2"]);
    expect(await connections.find("c-1")).toBeUndefined();
  });

  test("a new connection that is called closed stays, and an end is tried again", async () => {
    const { pushed, answers, receivers, connections } = await push(1, 1_000);
    answers("c-0", "gone", "gone");
    expect(await pushed(endNotice())).toEqual({ sent: 1, gone: 0, dropped: 0 });
    expect(receivers()).toEqual(["c-0"]);
    expect(await connections.find("c-0")).toBeDefined();
  });

  test("a new connection that is called closed stays also when the message is not tried again", async () => {
    const { pushed, answers, connections } = await push(1, 1_000);
    answers("c-0", "gone");
    expect(await pushed(changeNotice())).toEqual({ sent: 0, gone: 1, dropped: 0 });
    expect(await connections.find("c-0")).toBeDefined();
  });

  test("a busy connection does not get progress, but gets the end later", async () => {
    const { pushed, answers, receivers } = await push(2);
    answers("c-0", "busy");
    expect(await pushed(changeNotice())).toEqual({ sent: 1, gone: 0, dropped: 1 });
    answers("c-0", "busy", "busy", "busy");
    expect(await pushed(endNotice())).toEqual({ sent: 2, gone: 0, dropped: 0 });
    expect(receivers()).toEqual(["c-1", "c-1", "c-0"]);
  });

  test("an end for a connection that stays busy is given up", async () => {
    const { pushed, answers } = await push(1);
    answers("c-0", ...Array.from({ length: 20 }, () => "busy" as const));
    expect(await pushed(endNotice())).toEqual({ sent: 0, gone: 0, dropped: 1 });
  });

  test("an error of one connection does not stop the others", async () => {
    warnings.length = 0;
    const { pushed, answers, receivers } = await push(3);
    answers("c-0", ...Array.from({ length: 9 }, () => new PortUnavailable("the WebSocket API")));
    answers("c-1", new TypeError("a bug"));
    expect(await pushed(endNotice())).toEqual({ sent: 2, gone: 0, dropped: 1 });
    expect(receivers()).toEqual(["c-2", "c-1"]);
    expect(warnings).toHaveLength(5);
  });

  test("500 connections that do not read hold a notice up for three seconds at most, and the others get it first", async () => {
    const { ports, clock, socket, ids } = await push(520);
    for (const id of ids.slice(0, 500)) {
      socket.answers.set(id, () => "busy");
    }
    const startedAt = clock.now();
    let endedAt = 0;
    const working = pushNotice(ports, endNotice(), undefined).finally(() => {
      endedAt = clock.now();
    });
    for (let turns = 0; turns < 200; turns++) await Promise.resolve();
    expect(socket.messages).toHaveLength(20);
    for (let ms = 0; endedAt === 0 && ms < 60_000; ms += 100) await clock.advance(100);
    expect(await working).toEqual({ sent: 20, gone: 0, dropped: 500 });
    expect(endedAt - startedAt).toBeLessThanOrEqual(3_000);
  });

  test("a slow WebSocket API takes no more than the notice's time", async () => {
    const { ports, clock, socket } = await push(500);
    const tried: string[] = [];
    ports.socket = Object.assign(Object.create(socket), {
      post: (id: string) =>
        new Promise<Posted>((resolve) => {
          tried.push(id);
          clock.after(1_000, () => resolve("busy"));
        }),
    });
    const working = pushNotice(ports, endNotice(), undefined);
    for (let second = 0; second < 5; second++) await clock.advance(1_000);
    expect(await working).toEqual({ sent: 0, gone: 0, dropped: 500 });
    expect(tried.length).toBeLessThanOrEqual(4 * 25);
  });

  test("a connection that does not take three ends in a row is closed and removed; one that takes one is not", async () => {
    const { pushed, answers, socket, connections } = await push(2);
    const busy = (count: number) => Array.from({ length: count * 4 }, () => "busy" as const);
    answers("c-0", ...busy(3));
    answers("c-1", ...busy(2), "sent", ...busy(2));
    for (let end = 0; end < 2; end++) await pushed(endNotice());
    expect(socket.closed).toEqual([]);
    await pushed(endNotice());
    expect(socket.closed).toEqual(["c-0"]);
    expect(await connections.find("c-0")).toBeUndefined();
    for (let end = 0; end < 2; end++) await pushed(endNotice());
    expect(socket.closed).toEqual(["c-0"]);
  });

  test("a connection that was not tried within the time is not closed", async () => {
    const { pushed, socket, ports, ids } = await push(200);
    socket.post = async () => {
      await new Promise<void>((resolve) => void ports.clock.after(1_000, resolve));
      return "busy";
    };
    for (let notices = 0; notices < 4; notices++) await pushed(endNotice());
    // Three rounds of 25 in each notice, those first that have dropped the fewest.
    expect(new Set(socket.closed).size).toBe(socket.closed.length);
    expect(socket.closed.length).toBeLessThan(ids.length / 2);
  });

  test("connections that are known as slow get no message without a place, those of another tenant do", async () => {
    const { pushed, ports, receivers, connections } = await push(3);
    const other = { connection_id: "g", channel_id: "g", tenant_id: "globex", principal: "gil", scope: "own" } as const;
    await connections.add({ ...other, connected_at: "2026-01-01T00:00:00.000Z" });
    await connections.announce({ ...other, connected_at: "2026-01-01T00:00:00.000Z" });
    ports.slowHosts.areSlow = async (tenantId: string) => [tenantId === "acme"];
    ports.slowHosts.acquirePermit = async () => false;
    expect(await pushed(endNotice())).toEqual({ sent: 0, gone: 0, dropped: 3 });
    expect(await pushed(endNotice({ tenant_id: "globex", requested_by: "gil" }))).toMatchObject({ sent: 1 });
    expect(receivers()).toEqual(["g"]);
  });

  test("a closed connection that cannot be removed is logged", async () => {
    warnings.length = 0;
    const { pushed, answers, connections } = await push(1);
    connections.remove = () => Promise.reject(new PortUnavailable("the table"));
    answers("c-0", "gone");
    expect(await pushed(endNotice())).toEqual({ sent: 0, gone: 1, dropped: 0 });
    expect(warnings).toEqual(["could not remove a closed connection; the next message tries again"]);
  });
});
