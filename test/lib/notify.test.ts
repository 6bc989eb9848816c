import { expect, test } from "vitest";
import { allOf, inService, resources, type Synthesis, stage, synthesize, synthesizeChecked } from "./synthesis.ts";

const dev = stage("dev");

/** The functions that have a setting, with its value. */
const holders = (synthesis: Synthesis, variable: string) =>
  Object.fromEntries(
    allOf(synthesis.service, "AWS::Lambda::Function").flatMap((fn) => {
      const value = fn.get(`Environment.Variables.${variable}`);
      return value === undefined ? [] : [[fn.name.replace("/Function", ""), inService(synthesis, value)]];
    }),
  );

/** Actions of a function on resources whose names contain a text. */
const actionsOn = (synthesis: Synthesis, name: string, part: string) =>
  resources(
    synthesis.service,
    "AWS::IAM::Policy",
  )(`${name}/Role/DefaultPolicy`)
    .statements.filter(({ Resource }) => [Resource].flat().some((one) => inService(synthesis, one).includes(part)))
    .flatMap(({ Action }) => Action)
    .sort();

const queueOf = resources(dev.data, "AWS::SQS::Queue");

test("the notify queue hides a message for six time-outs of the function, and gives up after an hour", () => {
  const [visibility, receives] = ["VisibilityTimeout", "RedrivePolicy.maxReceiveCount"].map((name) =>
    Number(queueOf("NotifyQueue").get(name)),
  );
  expect(visibility).toBe(6 * 30);
  // The first receive is immediate.
  expect((Number(visibility) * (Number(receives) - 1)) / 60).toBe(57);
});

test("the notify queue is encrypted, and its dead-letter queue keeps messages for two weeks", () => {
  expect(queueOf("NotifyQueue").get("SqsManagedSseEnabled")).toBe(true);
  expect(queueOf("NotifyDlq").get("SqsManagedSseEnabled")).toBe(true);
  expect(queueOf("NotifyDlq").get("MessageRetentionPeriod")).toBe(14 * 86_400);
});

test("no function has allowed hosts by default", () => {
  expect(holders(dev, "OFFLOAD_CALLBACK_HOSTS")).toEqual({});
});

test("allowed hosts reach the functions that submit tasks and send webhooks, and all checks pass", () => {
  const made = synthesizeChecked({ callbackHosts: ["receiver.internal:8443", "10.0.0.7:9000"] });
  const hosts = "receiver.internal:8443,10.0.0.7:9000";
  expect(holders(made, "OFFLOAD_CALLBACK_HOSTS")).toEqual({ Submit: hosts, Control: hosts, Notify: hosts });
});

test.each(["receiver.internal", "https://receiver.internal:8443", "a:1,b:2", "host:0"])(
  "%s is refused as an allowed host",
  (host) => {
    expect(() => synthesize({ callbackHosts: ["127.0.0.1:9000", host] })).toThrow(
      `callbackHosts must have hosts with ports, such as "receiver.internal:8443", got ${JSON.stringify(host)}`,
    );
  },
);

test("the functions that end tasks look for channels only in a deployment that has some", () => {
  const pushing = synthesize({ push: true });
  const ending = ["Control", "CriticalWorker", "Fire", "Redrive"];
  const onTable = (synthesis: Synthesis) => ending.map((name) => actionsOn(synthesis, name, "Table.Arn"));
  expect(new Set(Object.values(holders(dev, "OFFLOAD_NOTIFY_PUSH")))).toEqual(new Set(["0"]));
  expect(new Set(Object.values(holders(pushing, "OFFLOAD_NOTIFY_PUSH")))).toEqual(new Set(["1"]));
  expect(onTable(pushing).every((actions) => actions.includes("dynamodb:BatchGetItem"))).toBe(true);
});

test("with push, the function notify may send to the connections of this deployment, and remove those that are gone", () => {
  const pushing = synthesizeChecked({ push: true });
  expect(actionsOn(pushing, "Notify", "@connections/*")).toEqual(["execute-api:ManageConnections"]);
  expect(new Set(actionsOn(pushing, "Notify", "Table.Arn"))).toEqual(
    new Set(
      ["BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"].map((one) => `dynamodb:${one}`),
    ),
  );
  expect(holders(pushing, "OFFLOAD_SOCKET_ENDPOINT")).toEqual({ Notify: expect.stringMatching(/^https:\/\/.*\/v1$/) });
});
