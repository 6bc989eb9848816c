import { expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../../../src/core/task/task.ts";
import type { LiveAccount } from "../../../src/tools/doctor/live.ts";
import { linkedRolesOf } from "../../../src/tools/doctor/pipeline.ts";
import { review } from "../../../src/tools/doctor/review.ts";
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

/** The findings about the roles of an account with these roles. */
const missingRoles = (props: object, roles: LiveAccount["roles"]) =>
  synthesized({ own: [video], props }, (subject) => {
    const live = {
      readAt: "2027-01-10T00:20:00.000Z",
      concurrency: 1000,
      functions: [],
      queues: [],
      reconciles: [],
      releases: [],
      roles,
    };
    return review({ ...subject, live }).findings.filter(({ check }) => check === "live-roles");
  });

const ecs = "AWSServiceRoleForECS";
const scaling = "AWSServiceRoleForApplicationAutoScaling_ECSService";

test("an account without the roles of containers gets the commands that create them", async () => {
  const found = await missingRoles({ containers: {} }, [
    { name: ecs, exists: false },
    { name: scaling, exists: false },
  ]);
  expect(found.map(({ severity, found, fix }) => [severity, found.split(":")[0], fix.split("`")[1]])).toEqual([
    ["high", `It has no role ${ecs}`, "aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com"],
    [
      "high",
      `It has no role ${scaling}`,
      "aws iam create-service-linked-role --aws-service-name ecs.application-autoscaling.amazonaws.com",
    ],
  ]);
});

test("roles that exist, or that could not be looked for, are no finding", async () => {
  const roles = [
    { name: ecs, exists: true },
    { name: scaling, unread: "not authorized" },
  ];
  expect(await missingRoles({ containers: {} }, roles)).toEqual([]);
});

test("a deployment that starts no containers itself needs no roles", async () => {
  const names = (props: object) =>
    synthesized({ own: [video], props }, ({ deployment }) => linkedRolesOf(deployment).map(({ name }) => name));
  expect(await names({ containers: { maxTasks: 0 } })).toEqual([]);
  expect(await names({ containers: {} })).toEqual([ecs, scaling]);
});

test("a type that needs container workers is found in a deployment without queues for them", async () => {
  expect(await found(false)).toContainEqual(["container-queues", "critical"]);
});

test("its time-out of twelve hours does not have to fit into a worker function", async () => {
  const checks = (await found(true)).map(([check]) => check);
  expect(checks).not.toContain("type-timeout");
  expect(checks).not.toContain("container-queues");
});
