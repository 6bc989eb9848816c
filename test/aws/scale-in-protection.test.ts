import { describe, expect, test, vi } from "vitest";
import { scaleInProtection } from "../../src/aws/scale-in-protection.ts";
import { supersededCheck } from "../../src/aws/superseded.ts";
import type { Log } from "../../src/core/ports/tasks.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { httpStub, type StubAnswer } from "../support/http-stub.ts";

const minuteMs = 60_000;

async function setUp(
  answer: () => StubAnswer = () => ({ body: '{"protection":{"ProtectionEnabled":true}}' }),
  isSuperseded: () => Promise<boolean> = async () => false,
) {
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
  const protection = scaleInProtection({ clock, log }, { ECS_AGENT_URI: `${agent.url}/api/task-1` }, isSuperseded);
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
    await vi.waitFor(() => expect(states()).toHaveLength(2), { timeout: 300_000 });
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

  test("attempts that start while the protection lasts cause no request", async () => {
    const { protection, states, clock } = await setUp();
    await protection.protect(40 * minuteMs);
    await clock.advance(5 * minuteMs);
    await protection.protect(40 * minuteMs);
    expect(states()).toHaveLength(1);
    await protection.protect(100 * minuteMs);
    expect(states()).toHaveLength(1);
    await clock.advance(30 * minuteMs);
    await vi.waitFor(() => expect(states()).toHaveLength(2), { timeout: 300_000 });
  });

  test("an attempt that starts as the last one ends keeps the protection", async () => {
    const { protection, states } = await setUp();
    await protection.protect(minuteMs);
    await Promise.all([protection.unprotect(), protection.protect(2 * minuteMs)]);
    expect(states().at(-1)).toEqual({ ProtectionEnabled: true, ExpiresInMinutes: 2 });
    expect(states()).toHaveLength(2);
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

  test("a container that a deployment replaces is not protected again", async () => {
    const { protection, states } = await setUp(undefined, async () => true);
    await protection.protect(minuteMs);
    expect(states()).toEqual([]);
    await protection.unprotect();
    expect(states()).toEqual([{ ProtectionEnabled: false }]);
  });

  test("a container is protected when it cannot read whether a deployment replaces it", async () => {
    const { protection, states, warnings } = await setUp(undefined, () => Promise.reject(new Error("no answer")));
    await protection.protect(minuteMs);
    expect(states()).toHaveLength(1);
    expect(warnings).toEqual([{ error: "Error: no answer" }]);
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

describe("a deployment that replaces a container", () => {
  /** A check in a container of the task definition `work:7`. */
  async function check(
    deployments: object[],
    own: object = { Cluster: "c", ServiceName: "s", Family: "work", Revision: "7" },
  ) {
    const metadata = await httpStub(() => ({ body: JSON.stringify(own) }));
    const asked: object[] = [];
    const send = async (command: { input: object }) => {
      asked.push(command.input);
      return { services: [{ deployments }] };
    };
    const isSuperseded = supersededCheck({ ECS_CONTAINER_METADATA_URI_V4: `${metadata.url}/v4/id` }, () => ({ send }));
    return { superseded: await isSuperseded(), asked, path: metadata.requests[0]?.url };
  }
  const arn = (revision: number) => `arn:aws:ecs:eu-west-1:123456789012:task-definition/work:${revision}`;

  test.each([
    [[{ status: "PRIMARY", taskDefinition: arn(7) }], false],
    [
      [
        { status: "PRIMARY", taskDefinition: arn(8) },
        { status: "ACTIVE", taskDefinition: arn(7) },
      ],
      true,
    ],
    [
      [
        { status: "PRIMARY", taskDefinition: arn(7) },
        { status: "ACTIVE", taskDefinition: arn(6) },
      ],
      false,
    ],
    [[{ status: "PRIMARY", taskDefinition: arn(77) }], true],
    [[], false],
  ])("deployments %j", async (deployments, expected) => {
    const { superseded, asked, path } = await check(deployments);
    expect(superseded).toBe(expected);
    expect(asked).toEqual([{ cluster: "c", services: ["s"] }]);
    expect(path).toBe("/v4/id/task");
  });

  test("a container of no service is not replaced", async () => {
    expect(await check([], { Cluster: "c" })).toMatchObject({ superseded: false, asked: [] });
  });

  test("outside of ECS nothing is replaced", async () => {
    expect(await supersededCheck({})()).toBe(false);
  });
});
