import { describe, expect, test, vi } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { OnceBusy, onceRetentionSeconds, runOnce } from "../../../src/core/task/once.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryOnceStore } from "../../../src/memory/others.ts";
import { gate } from "../../support/gate.ts";

function setUp() {
  const clock = new FakeClock();
  const ports = { clock, once: new MemoryOnceStore() };
  const caller = (owner: string, tenantId = "acme") => ({ tenantId, owner, untilMs: clock.now() + 30_000 });
  let count = 0;
  const effect = () => {
    count += 1;
    return count;
  };
  return { clock, ports, caller, effect };
}

describe("a side effect", () => {
  test("a side effect gets the same key in every attempt, and another for another key or tenant", async () => {
    const { ports, caller, clock } = setUp();
    const keys: string[] = [];
    const failing = (key: string) => {
      keys.push(key);
      throw new Error("no");
    };
    for (const [owner, key, tenant] of [
      ["a", "k", "acme"],
      ["b", "k", "acme"],
      ["a", "l", "acme"],
      ["a", "k", "globex"],
    ] as const) {
      await expect(runOnce(ports, caller(owner, tenant), key, failing)).rejects.toThrow("no");
      await clock.advance(1_000);
    }
    expect(keys[1]).toBe(keys[0]);
    expect(new Set(keys).size).toBe(3);
    for (const key of keys) expect(key).toMatch(/^[\x21-\x7e]{1,255}$/);
  });

  test("a side effect happens once, and every later call gets its outcome", async () => {
    const { ports, caller, effect } = setUp();
    expect(await runOnce(ports, caller("a"), "k", effect)).toBe(1);
    expect(await runOnce(ports, caller("a"), "k", effect)).toBe(1);
    expect(await runOnce(ports, caller("b"), "k", effect)).toBe(1);
  });

  test.each([[undefined], [null], [0], ["text"], [{ a: [1] }]])(
    "a side effect may have the outcome %j",
    async (value) => {
      const { ports, caller } = setUp();
      expect(await runOnce(ports, caller("a"), "k", () => value)).toEqual(value);
      expect(await runOnce(ports, caller("b"), "k", () => "again")).toEqual(value);
    },
  );

  test("the side effect of another key or tenant is separate", async () => {
    const { ports, caller, effect } = setUp();
    await runOnce(ports, caller("a"), "k", effect);
    expect(await runOnce(ports, caller("a"), "l", effect)).toBe(2);
    expect(await runOnce(ports, caller("a", "globex"), "k", effect)).toBe(3);
  });

  test("a side effect that failed can be tried again immediately, by any caller", async () => {
    const { ports, caller, effect } = setUp();
    const failing = () => Promise.reject(new RangeError("no"));
    await expect(runOnce(ports, caller("a"), "k", failing)).rejects.toThrow(new RangeError("no"));
    expect(await runOnce(ports, caller("b"), "k", effect)).toBe(1);
  });

  test("a side effect that fails keeps its own error, also when the key cannot be given up", async () => {
    const { ports, caller, effect, clock } = setUp();
    vi.spyOn(ports.once, "release").mockRejectedValueOnce(new PortUnavailable("the table"));
    const failing = () => Promise.reject(new RangeError("no"));
    await expect(runOnce(ports, caller("a"), "k", failing)).rejects.toThrow(new RangeError("no"));
    await expect(runOnce(ports, caller("b"), "k", effect)).rejects.toThrow(OnceBusy);
    await clock.advance(30_000);
    expect(await runOnce(ports, caller("b"), "k", effect)).toBe(1);
  });

  test("a side effect that another attempt runs is left alone", async () => {
    const { ports, caller, effect } = setUp();
    const { opened, open } = gate<string>();
    const first = runOnce(ports, caller("a"), "k", () => opened);
    await expect(runOnce(ports, caller("b"), "k", effect)).rejects.toThrow(OnceBusy);
    open("done");
    expect(await first).toBe("done");
    expect(await runOnce(ports, caller("b"), "k", effect)).toBe("done");
  });

  test("a side effect that another attempt runs is a transient failure", async () => {
    const { ports, caller, effect } = setUp();
    void runOnce(ports, caller("a"), "k", () => new Promise(() => {}));
    await expect(runOnce(ports, caller("b"), "k", effect)).rejects.toMatchObject({ kind: "transient" });
  });

  test("a side effect whose attempt died is tried again once that attempt is surely over", async () => {
    const { clock, ports, caller, effect } = setUp();
    void runOnce(ports, caller("a"), "k", () => new Promise(() => {}));
    await clock.advance(29_999);
    await expect(runOnce(ports, caller("b"), "k", effect)).rejects.toThrow(OnceBusy);
    await clock.advance(1);
    expect(await runOnce(ports, caller("b"), "k", effect)).toBe(1);
  });

  test("a side effect that was taken over does not overwrite the newer outcome", async () => {
    const { clock, ports, caller } = setUp();
    const { opened, open } = gate<string>();
    const late = runOnce(ports, caller("a"), "k", () => opened);
    await clock.advance(30_000);
    expect(await runOnce(ports, caller("b"), "k", () => "newer")).toBe("newer");
    open("late");
    await expect(late).rejects.toThrow(OnceBusy);
    expect(await runOnce(ports, caller("c"), "k", () => "third")).toBe("newer");
  });

  test("a side effect is kept for 60 days", async () => {
    const { clock, ports, caller, effect } = setUp();
    const finish = vi.spyOn(ports.once, "finish");
    await runOnce(ports, caller("a"), "k", effect);
    const purgeAt = clock.now() / 1000 + 60 * 86_400;
    expect(onceRetentionSeconds).toBe(60 * 86_400);
    expect(finish).toHaveBeenCalledExactlyOnceWith({ tenantId: "acme", key: "k", owner: "a", value: 1, purgeAt });
  });

  test("a task that gets the value of another task logs that task, and when it did the effect", async () => {
    const { clock, ports, caller, effect } = setUp();
    const logged: string[] = [];
    const log = { info: (line: unknown) => void logged.push(String(line)) };
    await runOnce(ports, { ...caller("task-a.1"), log }, "mail", effect);
    await clock.advance(90_000);
    await runOnce(ports, { ...caller("task-a.2"), log }, "mail", effect);
    expect(logged).toEqual([]);
    expect(await runOnce(ports, { ...caller("task-b.1"), log }, "mail", effect)).toBe(1);
    expect(logged).toEqual([
      'once "mail": task task-a did this effect at 2027-01-01T00:00:00Z, so this task has not: a key of task.once counts ' +
        "for all tasks of the tenant. For an effect of each task use task.step",
    ]);
  });

  test("a side effect does not happen when the store cannot answer", async () => {
    const { ports, caller } = setUp();
    vi.spyOn(ports.once, "begin").mockRejectedValueOnce(new PortUnavailable("the table"));
    const effect = vi.fn();
    await expect(runOnce(ports, caller("a"), "k", effect)).rejects.toThrow(PortUnavailable);
    expect(effect).not.toHaveBeenCalled();
  });
});

test.each(["", "x".repeat(257)])("a key of %j is refused before anything happens", async (key) => {
  const { ports, caller } = setUp();
  const effect = vi.fn();
  await expect(runOnce(ports, caller("a"), key, effect)).rejects.toThrow("the key must have 1 to 256 characters");
  expect(effect).not.toHaveBeenCalled();
});
