import { describe, expect, test } from "vitest";
import { allChecks } from "../../../../src/tools/cli/verify/all-checks.ts";
import { Differs, NotPossible } from "../../../../src/tools/cli/verify/check.ts";
import { fakeAccount } from "./fake-account.ts";
import { FakeDeployment } from "./fake-deployment.ts";

type AccountFaults = Parameters<typeof fakeAccount>[1];
type Faults = ConstructorParameters<typeof FakeDeployment>[0];

/** Runs one check on a deployment in memory. */
async function seenBy(name: string, faults: Faults = {}, ofAccount: AccountFaults = {}): Promise<string> {
  const deployment = new FakeDeployment(faults);
  const tools = await deployment.tools({ account: fakeAccount(deployment, ofAccount), long: true });
  const check = allChecks.find((one) => one.name === name);
  if (check === undefined) throw new Error(`there is no check ${name}`);
  return check.run(tools);
}

describe("a delay", () => {
  const name = "delay of 1000 s, by EventBridge Scheduler";
  test("a start at its time is as expected", async () => {
    expect(await seenBy(name)).toBe("started 500 ms after its time");
  });
  test.for([
    [-20, "started 20 ms before its time"],
    [10_001, "started 10001 ms after its time"],
  ] as const)("a start %i ms late differs", async ([late, seen]) => {
    await expect(seenBy(name, { lateMs: () => late })).rejects.toThrow(new Differs(seen));
  });
});

describe("a one-off schedule", () => {
  const name = "one-off schedule of a task";
  test("it is there, and gone after the end", async () => {
    expect(await seenBy(name)).toMatch(
      /^at\(2027-01-01T00:14:30\); task started 500 ms after its time; gone \d+ s after the end$/,
    );
  });
  test("one that stays differs", async () => {
    await expect(seenBy(name, {}, { keeps: true })).rejects.toThrow(new Differs("not seen within 180 s"));
  });
  test("another time differs", async () => {
    await expect(seenBy(name, {}, { expression: "at(2027-01-01T00:15:30)" })).rejects.toThrow(Differs);
  });
  test("with a missing target the task starts by its dead letter", async () => {
    const broken = "one-off schedule whose target is missing";
    expect(await seenBy(broken, { lateMs: () => 30_000 })).toBe("started 30000 ms after its time");
    await expect(seenBy(broken, { lateMs: () => 70_000 })).rejects.toThrow(Differs);
  });
});

describe("a code schedule whose target is missing", () => {
  const name = "code schedule whose target is missing";
  test("its firing is in the DLQ, and the schedule is deleted", async () => {
    expect(await seenBy(name)).toBe("after 0 s; attributes: E");
  });
  test("another body differs", async () => {
    await expect(seenBy(name, {}, { body: "offload" })).rejects.toThrow(Differs);
  });
});

describe("an input that the function of schedules cannot read", () => {
  const name = "input that the function of schedules cannot read";
  test("its dead letter has the input and the error", async () => {
    expect(await seenBy(name)).toBe("after 210 s; error: 200: no");
  });
  test.for([
    (payload: string) => ({ payload: JSON.stringify({ requestPayload: payload }), error: "200: no" }),
    (payload: string) => ({ payload, error: "unknown" }),
    () => undefined,
  ])("another body, no attributes or no letter differs (%#)", async (line) => {
    await expect(seenBy(name, {}, { line })).rejects.toThrow(Differs);
  });
});

describe("a presigned PUT", () => {
  test("what has to be refused is refused", async () => {
    expect(await seenBy("presigned PUT")).toBe("length 403, type 403, checksum 400, right 200, repeated 412");
  });
  test.for([
    { puts: [200, 403, 400, 200, 412] },
    { puts: [403, 403, 400, 403, 412] },
    { puts: [403, 403, 400, 200, 200] },
  ])("the answers $puts differ", async ({ puts }) => {
    await expect(seenBy("presigned PUT", { puts })).rejects.toThrow(Differs);
  });
});

test("a crash has its word in the history", async () => {
  expect(await seenBy("a worker out of memory")).toBe("crashed, then completed; 2 attempts, 1 s in all");
  expect(await seenBy("a worker out of time", { crash: "timed_out" })).toMatch(/^timed_out, then completed/);
  await expect(seenBy("a worker out of time", { crash: "retried" })).rejects.toThrow(Differs);
});

describe("an alarm", () => {
  const name = "an alarm, on and off";
  test("it is on while the tier has a dead letter", async () => {
    expect(await seenBy(name)).toBe("on after 0 s, off 0 s after the discard");
  });
  test("one that is on before, or that is not there, tells nothing", async () => {
    await expect(seenBy(name, { alarm: () => "alarm" })).rejects.toThrow(NotPossible);
    await expect(seenBy(name, { alarm: () => undefined })).rejects.toThrow(NotPossible);
  });
  test("one that stays off differs", async () => {
    await expect(seenBy(name, { alarm: () => "insufficient_data" })).rejects.toThrow(/still insufficient_data after/);
  });
});

describe("containers", () => {
  const name = "containers 0, 1, 0";
  test("one comes, and goes", async () => {
    const containers = (seconds: number) => (seconds > 60 && seconds < 700 ? 1 : 0);
    expect(await seenBy(name, {}, { containers })).toBe("0, then 1 after 70 s, then 0 after 700 s");
  });
  test("one that stays differs, and one that runs before tells nothing", async () => {
    await expect(seenBy(name, {}, { containers: (seconds) => (seconds > 60 ? 1 : 0) })).rejects.toThrow(Differs);
    await expect(seenBy(name, {}, { containers: () => 1 })).rejects.toThrow(NotPossible);
  });
});

describe("waits", () => {
  test("the first tasks may wait for their workers, the next ones hardly", async () => {
    const lateMs = ({ index }: { index: number }) => (index < 10 ? 9_000 : 100);
    const seen = "first median 9000 ms, longest 9000 ms; then median 100 ms, longest 100 ms";
    expect(await seenBy("waits in tier high", { lateMs })).toBe(seen);
    await expect(seenBy("waits in tier high", { lateMs: () => 9_000 })).rejects.toThrow(Differs);
  });
  test("a burst after half an hour completes", async () => {
    expect(await seenBy("burst after 30 idle minutes", { lateMs: () => 8_000 })).toMatch(/longest 8000 ms$/);
    await expect(
      seenBy("burst after 30 idle minutes", { lateMs: ({ index }) => (index === 299 ? 61_000 : 1_000) }),
    ).rejects.toThrow(Differs);
  });
});

describe("logs", () => {
  test("saved queries complete and find the attempts", async () => {
    expect(await seenBy("saved queries")).toMatch(/^2 completed .*"durations by type" has 1 rows$/);
    await expect(seenBy("saved queries", {}, { rows: 0 })).rejects.toThrow(Differs);
  });
  test("large logs are not read to the end", async () => {
    await expect(seenBy("saved queries", {}, { bytes: 30e9 })).rejects.toThrow(/the logs are large: 1 queries/);
  });
  test("cold starts come from the lines of metrics, and the cost from Lambda's metrics", async () => {
    expect(await seenBy("cold starts by tier")).toMatch(/^critical 4, longest 812 ms; high/);
    await expect(seenBy("cold starts by tier", {}, { rows: 0 })).rejects.toThrow(Differs);
    expect(await seenBy("cost of this run")).toBe("10 invocations, 2.5 GB-seconds: $0.0000");
    await expect(seenBy("cost of this run", {}, { invocations: 0 })).rejects.toThrow(NotPossible);
  });
});
