import { expect, test } from "vitest";
import { testKit } from "../../src/testkit/kit.ts";
import probeKeyed from "../../tasks/probe.keyed.ts";
import probeRated from "../../tasks/probe.rated.ts";
import probeStrict from "../../tasks/probe.strict.ts";

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test("probe.keyed returns when it began and ended", async () => {
  const { status, result } = await testKit([probeKeyed]).run(probeKeyed, { key: "a", ms: 0 });
  expect({ status, result }).toEqual({ status: "completed", result: { began: time, ended: time } });
});

test("probe.strict fails once if it is told to, and returns when it began and ended", async () => {
  const { status, result, attempts } = await testKit([probeStrict]).run(probeStrict, { key: "a", first: "fails" });
  expect({ status, result }).toEqual({ status: "completed", result: { began: time, ended: time } });
  expect(attempts.map(({ outcome }) => outcome)).toEqual(["retried", "completed"]);
});

test("probe.rated returns when it began", async () => {
  const { status, result } = await testKit([probeRated]).run(probeRated, { key: "a" });
  expect({ status, result }).toEqual({ status: "completed", result: { began: time } });
});
