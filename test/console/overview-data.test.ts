import { expect, test } from "vitest";
import { type QueuesAnswer, troublesOfQueues } from "../../console/src/pages/overview-data.ts";

const open = {
  ...{ visible: 0, in_flight: 0, delayed: 0, oldest_age_seconds: 0, dead_letters: 0, retrying: 0 },
  ...{ paused: false, paused_since: null, refusing_since: null },
};
const since = "2027-01-01T00:00:00.000Z";

test("the overview names a tier that is full, and one that is paused", () => {
  const queues = {
    critical: open,
    low: { ...open, refusing_since: since },
    normal: { ...open, paused: true, paused_since: since, refusing_since: since },
  };
  const troubles = troublesOfQueues({ queues, rescue: null } as QueuesAnswer);
  expect(troubles.map(({ kind, name, since: at }) => [kind, name, at])).toEqual([
    ["full", "tier low", since],
    ["full", "tier normal", since],
    ["paused", "tier normal", since],
  ]);
});
