import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fn, Stack } from "aws-cdk-lib";
import { EventBus } from "aws-cdk-lib/aws-events";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { describe, expect, onTestFinished, test } from "vitest";
import { busNameIn } from "../../lib/event-bus.ts";
import { loadTasks } from "../../lib/load-tasks.ts";
import { defineTrigger } from "../../src/core/schedules/define-trigger.ts";
import { readPayload } from "../../src/core/schedules/fire.ts";
import { packageVersion } from "../../src/installed/installation.ts";
import {
  allOf,
  echo,
  inData,
  inService,
  needed,
  resources,
  type Statement,
  type Synthesis,
  stage,
  synthesize,
  synthesizeChecked,
} from "./synthesis.ts";

const pattern = { source: ["aws.s3"], detail: { bucket: { name: ["uploads"] } } };
const upload = defineTrigger({
  name: "upload.echo",
  pattern,
  tenantId: "acme",
  type: echo,
  input: { value: "$.detail.object.key" },
});
const arn = (resource: string) => `arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:${resource}`;
/** Rules of triggers. The service has one more, which hears that a deployment has ended. */
const triggerRules = ({ service }: Synthesis) =>
  allOf(service, "AWS::Events::Rule").filter((rule) => !JSON.stringify(rule.json).includes("aws.cloudformation"));
const busOf = ({ pipeline }: Synthesis) => pipeline.data.events;

describe("events of a deployment", () => {
  test("there is no bus and no rule by default", () => {
    const dev = stage("dev");
    expect(allOf(dev.data, "AWS::Events::EventBus")).toEqual([]);
    expect(triggerRules(dev)).toEqual([]);
    expect(busOf(dev)).toBeUndefined();
  });

  test.each(["dev", "prod"] as const)(
    "in %s there is a bus with the deployment's name, kept as other data is",
    (name) => {
      const made = synthesize({ stage: name, ...needed[name], events: true });
      const [bus, ...others] = allOf(made.data, "AWS::Events::EventBus");
      expect(others).toEqual([]);
      expect(bus?.get("Name")).toBe(`Offload-${name}`);
      expect(bus?.json.DeletionPolicy).toBe("Delete");
      expect(busOf(made)?.settings).toEqual({ eventBus: `Offload-${name}`, eventSource: `offload.Offload-${name}` });
    },
  );

  test("another bus is used as it is", () => {
    const made = synthesize({ events: { busName: "company" } });
    expect(allOf(made.data, "AWS::Events::EventBus")).toEqual([]);
    expect(busOf(made)?.settings).toEqual({ eventBus: "company", eventSource: "offload.Offload-dev" });
  });

  /** The only statement that a role gets, as text. */
  const granted = (events: true | { busName: string }) => {
    let role = "";
    const made = synthesize({ events }, (pipeline) => {
      const fn = new Role(pipeline.service, "Caller", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
      role = "Caller/DefaultPolicy";
      pipeline.data.events?.allowPut(fn);
    });
    const [statement, ...others] = resources(made.service, "AWS::IAM::Policy")(role).statements;
    expect(others).toEqual([]);
    return [statement?.Action, inService(made, statement?.Resource)];
  };

  test.each<[true | { busName: string }, string]>([
    [true, arn("event-bus/Offload-dev")],
    [{ busName: "company" }, arn("event-bus/company")],
    [
      { busName: "arn:aws:events:eu-central-1:123456789012:event-bus/company" },
      "arn:aws:events:eu-central-1:123456789012:event-bus/company",
    ],
  ])("a function may be granted to put events on exactly the bus %j", (events, resource) => {
    expect(granted(events)).toEqual(["events:PutEvents", resource]);
  });

  test("a bus of another stack of the app can be used by its name", () => {
    const made = synthesize((app) => ({
      events: { busName: new EventBus(new Stack(app, "Shared"), "Bus").eventBusName },
    }));
    expect(busOf(made)).toBeDefined();
  });

  test("an imported value may be a name or an ARN: functions and rules get it as it is, and rights the name in it", () => {
    const bus = { "Fn::ImportValue": "CompanyBus" };
    const made = synthesize(() => ({
      ...{ events: { busName: Fn.importValue("CompanyBus") }, triggers: [{ ...upload, bus: "own" }] },
    }));
    const name = { "Fn::Select": [1, { "Fn::Split": [":event-bus/", { "Fn::Join": [":event-bus/", [bus, bus]] }] }] };
    const ruleOfBus = allOf(made.service, "AWS::Events::Rule").map((one) => one.get("EventBusName"));
    expect(ruleOfBus).toContainEqual(bus);
    const sources = allOf(made.service, "AWS::Lambda::Permission").map((one) => JSON.stringify(one.get("SourceArn")));
    expect(sources.filter((source) => source?.includes(JSON.stringify(name)))).toHaveLength(1);
    const policies = JSON.stringify(allOf(made.service, "AWS::IAM::Policy").map(({ statements }) => statements));
    expect(policies).toContain(`:event-bus/",${JSON.stringify(name)}`);
  });

  test.each([
    ["a name", "company"],
    ["an ARN", "arn:aws:events:eu-central-1:123456789012:event-bus/company"],
    ["the ARN of a partner's bus", "arn:aws:events:eu-central-1:123456789012:event-bus/aws.partner/x/company"],
  ])("the name of a bus is in the second place of %s that is written twice", (_, bus) => {
    expect([bus, bus].join(":event-bus/").split(":event-bus/")[1]).toBe(busNameIn(bus));
  });
});

describe("the end of a deployment", () => {
  const { service } = stage("dev");
  const rule = resources(service, "AWS::Events::Rule")("Fire/Deployed");

  test("and its start are heard of the service stack; the end also of the first one and of a roll-back", () => {
    expect(rule.get("EventPattern")).toEqual({
      source: ["aws.cloudformation"],
      "detail-type": ["CloudFormation Stack Status Change"],
      detail: {
        "stack-id": [{ Ref: "AWS::StackId" }],
        "status-details": {
          status: ["UPDATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"],
        },
      },
    });
  });

  test("fire can read what the rule makes of CloudFormation's event: its time, its status, and the version", () => {
    const [target] = rule.list<{ InputTransformer: { InputPathsMap: Record<string, string>; InputTemplate: string } }>(
      "Targets",
    );
    const { InputPathsMap = {}, InputTemplate = "" } = target?.InputTransformer ?? {};
    expect(InputPathsMap).toEqual({ at: "$.time", status: "$.detail.status-details.status" });
    const values: Record<string, string> = { at: "2027-01-01T14:02:00Z", status: "UPDATE_ROLLBACK_COMPLETE" };
    const input = InputTemplate.replaceAll(/<(\w+)>/g, (_, name) => JSON.stringify(values[name]));
    expect(readPayload(JSON.parse(input))).toEqual({
      ...{ kind: "deployed", at: "2027-01-01T14:02:00.000Z", status: "UPDATE_ROLLBACK_COMPLETE" },
      version: packageVersion(),
    });
  });
});

describe("triggers", () => {
  const made = synthesize({
    events: true,
    triggers: [upload, { ...upload, name: "again", bus: "own", pattern: { detail: { type: ["other"] } } }],
  });
  const rule = resources(made.service, "AWS::Events::Rule");

  test("a trigger is a rule of its bus, whose name leads to the trigger", () => {
    expect(triggerRules(made)).toHaveLength(2);
    expect(rule("Fire/Trigger-upload.echo").json.Properties).toMatchObject({
      Name: "Offload-dev.upload.echo",
      EventBusName: "default",
      EventPattern: pattern,
    });
    expect(rule("Fire/Trigger-again").get("EventBusName")).toBe("Offload-dev");
  });

  test("the rule invokes fire with the trigger's name and the event, for a day, and then sends it to the queue of firings", () => {
    const [target, ...others] = rule("Fire/Trigger-upload.echo").list<Record<string, unknown>>("Targets");
    expect(others).toEqual([]);
    expect(target).toMatchObject({
      InputTransformer: { InputTemplate: '{"kind":"event","trigger":"upload.echo","event":<aws.events.event.json>}' },
      RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 },
    });
    expect(inService(made, target?.Arn)).toBe("Fire/Function.Arn");
    expect(inService(made, rule("Fire/Trigger-upload.echo").get("Targets.0.DeadLetterConfig.Arn"))).toBe(
      "Scheduling/Firings.Arn",
    );
  });

  test("Lambda still sends events on which fire fails to the queue of firings", () => {
    const fire = resources(made.service, "AWS::Lambda::Function")("Fire/Function");
    expect(inService(made, fire.get("DeadLetterConfig.TargetArn"))).toBe("Scheduling/Firings.Arn");
  });

  test("only rules of the deployment may invoke fire, on each bus that has triggers", () => {
    const permissions = allOf(made.service, "AWS::Lambda::Permission").filter(
      (permission) => permission.get("Principal") === "events.amazonaws.com",
    );
    expect(permissions.map((permission) => inService(made, permission.get("SourceArn"))).sort()).toEqual([
      "Fire/Deployed.Arn",
      arn("rule/Offload-dev.*"),
      arn("rule/Offload-dev/Offload-dev.*"),
    ]);
  });

  const queuePolicy = (synthesis: Synthesis) =>
    allOf(synthesis.data, "AWS::SQS::QueuePolicy")
      .flatMap((policy) => policy.statements)
      .filter(({ Principal }) => JSON.stringify(Principal).includes("events.amazonaws.com"));

  test("buses whose names differ in signs only have a permission each", () => {
    const buses = ["shop-events", "shop.events"];
    const { service } = synthesize({ triggers: buses.map((bus, index) => ({ ...upload, name: `on${index}`, bus })) });
    const sources = allOf(service, "AWS::Lambda::Permission").map((one) => JSON.stringify(one.get("SourceArn")));
    for (const bus of buses) expect(sources.filter((source) => source.includes(`rule/${bus}/`))).toHaveLength(1);
  });

  test("only rules of the deployment may send to the queue of firings, in apps with triggers", () => {
    const [statement, ...others] = queuePolicy(made) as [Statement, ...Statement[]];
    expect(others).toEqual([]);
    expect([statement.Action, inData(made, statement.Resource)]).toEqual(["sqs:SendMessage", "Scheduling/Firings.Arn"]);
    const sources = statement.Condition?.ArnLike?.["aws:SourceArn"] as unknown[];
    expect(sources.map((source) => inData(made, source))).toEqual([
      arn("rule/Offload-dev.*"),
      arn("rule/*/Offload-dev.*"),
    ]);
    expect(queuePolicy(stage("dev"))).toEqual([]);
  });

  test("fire may keep refused events in the dead-letter queue, in apps with triggers", () => {
    const settings = (synthesis: Synthesis) =>
      resources(synthesis.service, "AWS::Lambda::Function")("Fire/Function").get("Environment.Variables") as object;
    expect(inService(made, (settings(made) as { OFFLOAD_FIRINGS_DLQ_URL: unknown }).OFFLOAD_FIRINGS_DLQ_URL)).toBe(
      "Scheduling/Dlq",
    );
    expect(settings(stage("dev"))).not.toHaveProperty("OFFLOAD_FIRINGS_DLQ_URL");
    const sends = resources(
      made.service,
      "AWS::IAM::Policy",
    )("Fire/Role/DefaultPolicy")
      .statements.filter(({ Action }) => [Action].flat().includes("sqs:SendMessage"))
      .flatMap(({ Resource }) => [Resource].flat().map((one) => inService(made, one)));
    expect(sends).toContain("Scheduling/Dlq.Arn");
  });

  test("triggers of a folder are read without waiting, as a construct must", () => {
    const project = mkdtempSync(join(tmpdir(), "offload-triggers-"));
    onTestFinished(() => rmSync(project, { recursive: true }));
    symlinkSync(join(import.meta.dirname, "../../node_modules"), join(project, "node_modules"));
    mkdirSync(join(project, "tasks"));
    const save = (name: string, ...lines: string[]) => writeFileSync(join(project, "tasks", name), lines.join("\n"));
    save(
      "mail.send.ts",
      'import { defineTask } from "offload";',
      'import * as z from "zod";',
      'export default defineTask({ name: "mail.send", input: z.null(), handler: () => null });',
    );
    save(
      "triggers.ts",
      'import { defineTrigger } from "offload/triggers";',
      `import send from ${JSON.stringify("./mail.send.ts")};`,
      'const pattern = { source: ["shop"] };',
      'export default [defineTrigger({ name: "order", pattern, tenantId: "acme", type: send, input: null })];',
    );
    expect(
      loadTasks({ files: { tasks: join(project, "tasks") }, probes: false, variables: {} }).triggers,
    ).toMatchObject([{ name: "order", task: { type: "mail.send" } }]);
  });

  test("the templates pass the checks of a deployment", () => {
    expect(() =>
      synthesizeChecked({ events: true, triggers: [upload, { ...upload, name: "b", bus: "own" }] }),
    ).not.toThrow();
  });

  test("a trigger must submit a type that the deployment accepts", () => {
    expect(() => synthesize({ types: [], triggers: [upload] })).toThrow(
      /upload.echo submits echo, which is not a task type/,
    );
  });

  test("a trigger of a deployment's own events needs events", () => {
    expect(() => synthesize({ triggers: [{ ...upload, bus: "own" }] })).toThrow(/set events: true/);
  });

  test("a trigger that would trigger itself again is refused", () => {
    const loop = { ...upload, pattern: { source: ["offload.Offload-dev"], detail: { type: ["echo"] } } };
    expect(() => synthesize({ triggers: [loop] })).toThrow(/matches only ends of its own tasks/);
  });

  test("a rule's name has at most 64 characters", () => {
    const long = { ...upload, name: "n".repeat(48) };
    expect(synthesize({ triggers: [long] }).service).toBeDefined();
    expect(() => synthesize({ stage: "a-stage-with-a-name", alarms: { unheard: true }, triggers: [long] })).toThrow(
      /Give the trigger a shorter name/,
    );
  });
});
