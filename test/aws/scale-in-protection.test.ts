import { describe, expect, test, vi } from "vitest";
import { scaleInProtection } from "../../src/aws/scale-in-protection.ts";
import type { Log } from "../../src/core/ports.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { httpStub, type StubAnswer } from "../support/http-stub.ts";

const minuteMs = 60_000;

async function setUp(answer: () => StubAnswer = () => ({ body: '{"protection":{"ProtectionEnabled":true}}' })) {
  const agent = await httpStub(answer);
  const warnings: unknown[] = [];
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: (_, fields) => warnings.push(fields),
    error: () => {},
    with: () => log,
  };
  const clock = new FakeClock(0);
  const protection = scaleInProtection({ clock, log }, { ECS_AGENT_URI: `${agent.url}/api/task-1` });
  const states = () => agent.requests.map(({ body }) => JSON.parse(body) as object);
  return { protection, agent, states, warnings, clock };
}

describe("the protection of a container", () => {
  test("the agent protects the container until the given time, in whole minutes", async () => {
    const { protection, agent, states } = await setUp();
    await protection.protect(10.5 * minuteMs);
    expect(states()).toEqual([{ ProtectionEnabled: true, ExpiresInMinutes: 11 }]);
    expect(`${agent.requests[0]?.method} ${agent.requests[0]?.url}`).toBe("PUT /api/task-1/task-protection/v1/state");
  });

  test("the protection ends when no attempt runs any more", async () => {
    const { protection, states } = await setUp();
    await protection.protect(10 * minuteMs);
    await protection.unprotect();
    expect(states().at(-1)).toEqual({ ProtectionEnabled: false });
  });

  test("one protection lasts an hour at most, and is renewed after half of it", async () => {
    const { protection, states, clock } = await setUp();
    await protection.protect(80 * minuteMs);
    expect(states()).toEqual([{ ProtectionEnabled: true, ExpiresInMinutes: 60 }]);
    await clock.advance(30 * minuteMs);
    await vi.waitFor(() => expect(states()).toHaveLength(2));
    expect(states()[1]).toEqual({ ProtectionEnabled: true, ExpiresInMinutes: 50 });
  });

  test("a protection that ended is not renewed", async () => {
    const { protection, states, clock } = await setUp();
    await protection.protect(120 * minuteMs);
    await protection.unprotect();
    await clock.advance(31 * minuteMs);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(states()).toHaveLength(2);
  });

  test("requests reach the agent in the order of the calls", async () => {
    const { protection, states } = await setUp();
    await Promise.all([protection.protect(minuteMs), protection.unprotect(), protection.protect(2 * minuteMs)]);
    expect(states().map((state) => (state as { ProtectionEnabled: boolean }).ProtectionEnabled)).toEqual([
      true,
      false,
      true,
    ]);
  });

  test.each([
    [{ status: 500, body: "no" }],
    [{ status: 200, body: '{"failure":{"Arn":"a","Reason":"DEPLOYMENT_BLOCKED"}}' }],
    [{ status: 400, body: '{"error":{"Code":"AccessDeniedException"}}' }],
  ])("the answer %j of the agent is logged and fails nothing", async (answer) => {
    const { protection, warnings } = await setUp(() => answer);
    await protection.protect(minuteMs);
    expect(warnings).toEqual([{ error: expect.stringContaining(answer.body.slice(0, 10)) }]);
  });

  test("outside of ECS nothing is protected", async () => {
    const { agent } = await setUp();
    const log = {} as Log;
    const protection = scaleInProtection({ clock: new FakeClock(), log }, {});
    await protection.protect(minuteMs);
    await protection.unprotect();
    expect(agent.requests).toEqual([]);
  });
});
