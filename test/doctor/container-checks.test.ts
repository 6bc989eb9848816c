import { expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../../src/core/task/task.ts";
import { review } from "../../src/doctor/review.ts";
import { synthesized } from "./synthesis.ts";

const video = defineTask({
  name: "video",
  description: "Encodes a video.",
  input: z.strictObject({}),
  runsOn: "container",
  timeoutSeconds: 43_200,
  handler: () => null,
});

const found = (deployed: boolean) =>
  synthesized(
    {
      own: deployed ? [video] : [],
      props: deployed ? { containers: { maxTasks: 0 } } : {},
      plant: ({ types }) => void types.splice(0, types.length, video),
    },
    (subject) => review(subject).findings.map(({ check, severity }) => [check, severity]),
  );

test("a type that needs container workers is found in a deployment without queues for them", async () => {
  expect(await found(false)).toContainEqual(["container-queues", "critical"]);
});

test("its time-out of twelve hours does not have to fit into a worker function", async () => {
  const checks = (await found(true)).map(([check]) => check);
  expect(checks).not.toContain("type-timeout");
  expect(checks).not.toContain("container-queues");
});
