import { expect, test } from "vitest";
import { setProbeCounters } from "../../src/core/ports/probe-counters.ts";
import { MemoryCounters } from "../../src/memory/others.ts";
import { testKit } from "../../src/testkit/kit.ts";
import probeOnce from "../../tasks/probe.once.ts";

test("probe.once counts once over two attempts, in the counters of its worker", async () => {
  setProbeCounters(new MemoryCounters());
  const kit = testKit([probeOnce]);
  const first = await kit.run(probeOnce, { key: "a" });
  expect(first).toMatchObject({ status: "completed", result: { count: 1 } });
  expect(first.attempts).toHaveLength(2);
});
