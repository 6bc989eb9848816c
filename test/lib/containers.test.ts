import { type App, Stack } from "aws-cdk-lib";
import { SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { inSteps, outSteps } from "../../lib/container-scaling.ts";
import type { ContainerOptions } from "../../lib/containers.ts";
import { runbookSections } from "../../lib/observability/alarms.ts";
import { title } from "../../lib/per-tier.ts";
import { tiers } from "../../src/core/model/words.ts";
import { defineTask } from "../../src/core/task/task.ts";
import { fromEnv } from "../../src/settings/config.ts";
import { evaluate } from "./metric-math.ts";
import {
  allOf,
  inData,
  inService,
  needed,
  type Resource,
  resources,
  type Synthesis,
  stage,
  synthesize,
  synthesizeChecked,
  widgetsOf,
} from "./synthesis.ts";

const video = defineTask({
  name: "video",
  input: z.object({}),
  runsOn: "container",
  timeoutSeconds: 43_200,
  handler: () => 1,
});

const usual = synthesizeChecked({ stage: "prod", ...needed.prod, containers: {}, types: [video] });
const queueOf = resources(usual.data, "AWS::SQS::Queue");

interface ContainerJson {
  Command: string[];
  EntryPoint: string[];
  Image: unknown;
  Environment: { Name: string; Value: unknown }[];
  HealthCheck: { Command: string[] };
  LogConfiguration: { Options: Record<string, unknown> };
  MountPoints: { ContainerPath: string; ReadOnly: boolean }[];
  [property: string]: unknown;
}

const only = (synthesis: Synthesis, type: string): Resource => {
  const [found, ...others] = allOf(synthesis.service, type);
  if (found === undefined || others.length > 0) throw new Error(`expected one ${type}, found ${others.length + 1}`);
  return found;
};
const service = only(usual, "AWS::ECS::Service");
const definition = only(usual, "AWS::ECS::TaskDefinition");
const containersOf = (one: Resource) => one.list<ContainerJson>("ContainerDefinitions");
const containerOf = (one: Resource) => containersOf(one)[0] as ContainerJson;
const container = containerOf(definition);

const environment = (synthesis: Synthesis, { Environment }: ContainerJson): Record<string, string> =>
  Object.fromEntries(Environment.map(({ Name, Value }) => [Name, inService(synthesis, Value)]));

/** Statements of the policies of a role, by the start of its construct's path. */
const allowed = (synthesis: Synthesis, path: string) =>
  allOf(synthesis.service, "AWS::IAM::Policy")
    .filter(({ name }) => name.startsWith(path))
    .flatMap(({ statements }) => statements)
    .flatMap(({ Action, Resource: targets }) =>
      [Action].flat().map((action) => [action, [targets].flat().map((one) => inService(synthesis, one))] as const),
    );

const targetsOf = (action: string, path: string, synthesis = usual): string[] =>
  allowed(synthesis, path).flatMap(([name, targets]) => (name === action ? targets : []));

describe("the queues", () => {
  test.each(tiers)("tier %s has one, with the redrive of the tier", (tier) => {
    const queue = queueOf(`Containers/${title(tier)}`);
    expect(queue.get("RedrivePolicy.maxReceiveCount")).toBe(5);
    expect(inData(usual, queue.get("RedrivePolicy.deadLetterTargetArn"))).toBe("RedriveQueue.Arn");
    expect(queue.get("MessageRetentionPeriod")).toBe(14 * 86_400);
    expect(queue.get("VisibilityTimeout")).toBe(120);
    expect(queue.get("SqsManagedSseEnabled")).toBe(true);
    expect(queue.json.DeletionPolicy).toBe("RetainExceptOnCreate");
  });

  test("no function takes messages from them", () => {
    const sources = allOf(usual.service, "AWS::Lambda::EventSourceMapping").map((one) =>
      inService(usual, one.get("EventSourceArn")),
    );
    expect(sources.filter((source) => source.startsWith("Containers/"))).toEqual([]);
  });

  const senders = ["Submit", "Control", "Fire", "Redrive", ...tiers.map((tier) => `${title(tier)}Worker`)];

  test.each(senders)("%s knows their URLs, may send to them, and may start the wake function", (name) => {
    const fn = resources(usual.service, "AWS::Lambda::Function")(`${name}/Function`);
    const variables = (fn.get("Environment.Variables") ?? {}) as Record<string, unknown>;
    const urls = JSON.parse(inService(usual, variables.OFFLOAD_CONTAINER_QUEUE_URLS)) as Record<string, string>;
    expect(urls).toEqual(Object.fromEntries(tiers.map((tier) => [tier, `Containers/${title(tier)}`])));
    expect(variables.OFFLOAD_WAKE_FUNCTION).toBe("Offload-prod-wake");
    const sendable = targetsOf("sqs:SendMessage", `${name}/`);
    expect(sendable).toEqual(expect.arrayContaining(tiers.map((tier) => `Containers/${title(tier)}.Arn`)));
    expect(targetsOf("lambda:InvokeFunction", `${name}/`).filter((arn) => arn.endsWith("wake"))).toHaveLength(1);
  });

  test.each(senders)("%s may not change the service", (name) => {
    expect(allowed(usual, `${name}/`).filter(([action]) => String(action).startsWith("ecs:"))).toEqual([]);
  });

  test.each(["Submit", "Control"])("%s may measure them", (name) => {
    const measured = targetsOf("sqs:GetQueueAttributes", `${name}/`);
    expect(measured).toEqual(expect.arrayContaining(tiers.map((tier) => `Containers/${title(tier)}.Arn`)));
  });

  test.each(["Status", "Authorizer"])("%s knows nothing of them", (name) => {
    const fn = resources(usual.service, "AWS::Lambda::Function")(`${name}/Function`);
    expect(JSON.stringify(fn.get("Environment"))).not.toContain("CONTAINER");
  });

  test("a program that submits directly gets them, too", () => {
    const direct = synthesize({ containers: {} }, (pipeline) => void pipeline.submitSettings);
    expect(direct.pipeline.submitSettings.OFFLOAD_CONTAINER_QUEUE_URLS).toBeDefined();
    expect(direct.pipeline.submitSettings.OFFLOAD_WAKE_FUNCTION).toBe("Offload-dev-wake");
  });
});

describe("the wake function", () => {
  const wake = resources(usual.service, "AWS::Lambda::Function")("Wake/Function");

  test("its name is that which senders start", () => {
    expect(wake.get("FunctionName")).toBe("Offload-prod-wake");
  });

  test("it may read and change the service, and nothing else", () => {
    const actions = allowed(usual, "Wake/").filter(([action]) => !String(action).startsWith("logs:"));
    expect(actions).toEqual([
      ["ecs:DescribeServices", ["Containers/Service/Service"]],
      ["ecs:UpdateService", ["Containers/Service/Service"]],
    ]);
  });

  test("it can parse its setting", () => {
    const text = inService(usual, wake.get("Environment.Variables.OFFLOAD_CONTAINER_SERVICE"));
    expect(text).toBe("Containers/Cluster/Containers/Service/Service.Name");
    const env = { OFFLOAD_CONTAINER_SERVICE: "cluster/service" };
    expect(fromEnv(env, ["containerService"]).containerService).toEqual({ cluster: "cluster", service: "service" });
  });

  test.each(["", "cluster", "a/b/c", "/b"])("the setting %j is refused", (text) => {
    expect(() => fromEnv({ OFFLOAD_CONTAINER_SERVICE: text }, ["containerService"])).toThrow("<cluster>/<service>");
  });
});

describe("a container", () => {
  test("it is arm64 with one CPU and 2 GiB", () => {
    expect(definition.get("RuntimePlatform")).toEqual({ CpuArchitecture: "ARM64", OperatingSystemFamily: "LINUX" });
    expect([definition.get("Cpu"), definition.get("Memory")]).toEqual(["1024", "2048"]);
    expect(definition.get("RequiresCompatibilities")).toEqual(["FARGATE"]);
  });

  test("its image is Node's own, and its command loads the code", () => {
    expect(container.Image).toBe("public.ecr.aws/docker/library/node:24-slim");
    expect(container.EntryPoint).toEqual(["node"]);
    expect(container.Command.slice(0, 2)).toEqual(["--input-type=module", "-e"]);
    // CloudFormation would take it for a parameter.
    expect(container.Command[2]).not.toContain("$" + "{");
  });

  test("it runs as user 1000 from the start, once /tmp is open; only what opens it is root, and ends", () => {
    const [, opener, ...others] = containersOf(definition);
    expect(others).toEqual([]);
    expect([container.User, container.Essential]).toEqual(["1000:1000", true]);
    expect(container.DependsOn).toEqual([{ Condition: "SUCCESS", ContainerName: opener?.Name }]);
    expect(opener).toMatchObject({ User: "0:0", Essential: false, Image: container.Image, EntryPoint: ["node"] });
    expect(opener?.Command).toEqual(["-e", 'require("node:fs").chmodSync("/tmp", 0o1777)']);
    expect(opener).not.toHaveProperty("Environment");
  });

  test("each can write to /tmp only, and has no capability of Linux", () => {
    for (const one of containersOf(definition)) {
      expect(one.ReadonlyRootFilesystem).toBe(true);
      expect(one.MountPoints).toEqual([{ ContainerPath: "/tmp", ReadOnly: false, SourceVolume: "tmp" }]);
      expect(one.LinuxParameters).toEqual({ Capabilities: { Drop: ["ALL"] }, InitProcessEnabled: true });
    }
  });

  test("it has two minutes to stop, which is Fargate's maximum, and drains in less", () => {
    expect(container.StopTimeout).toBe(120);
    expect(environment(usual, container).OFFLOAD_WORK_DRAIN_SECONDS).toBe("30");
  });

  test("its health check asks the port that it answers on", () => {
    const port = environment(usual, container).OFFLOAD_WORK_HEALTH_PORT;
    expect(container.HealthCheck.Command.join(" ")).toContain(`http://127.0.0.1:${port}`);
  });

  test("it has the settings of the workers, except a tier, and its own", () => {
    const variables = environment(usual, container);
    const worker = resources(usual.service, "AWS::Lambda::Function")("LowWorker/Function");
    const { OFFLOAD_TIER: _, ...ofWorkers } = worker.get("Environment.Variables") as Record<string, unknown>;
    for (const [name, value] of Object.entries(ofWorkers)) expect(variables[name]).toBe(inService(usual, value));
    expect(variables).not.toHaveProperty("OFFLOAD_TIER");
    expect(variables).toMatchObject({ OFFLOAD_WORK_CONCURRENCY: "4", OFFLOAD_WORK_MEMORY_MB: "1228", HOME: "/tmp" });
  });

  test("it logs to a group of its own, which keeps lines for a month", () => {
    const group = resources(usual.service, "AWS::Logs::LogGroup")("Containers/Logs");
    expect(group.get("RetentionInDays")).toBe(30);
    expect(inService(usual, container.LogConfiguration.Options["awslogs-group"])).toBe("Containers/Logs");
    expect(container.LogConfiguration.Options.mode).toBe("non-blocking");
  });

  test("it may do what worker functions may, and takes messages of the container queues only", () => {
    const taken = targetsOf("sqs:ReceiveMessage", "Containers/Role");
    expect(taken.sort()).toEqual(tiers.map((tier) => `Containers/${title(tier)}.Arn`).sort());
    const actionsOf = (path: string) => new Set(allowed(usual, path).map(([action]) => action));
    const ofWorker = actionsOf("HighWorker/");
    const more = [...actionsOf("Containers/Role")].filter((action) => !ofWorker.has(action));
    expect(more.sort()).toEqual(["ecs:DescribeServices", "ecs:UpdateTaskProtection"]);
  });

  test("it may read its code, and no other asset", () => {
    const read = targetsOf("s3:GetObject", "Containers/Role").filter((arn) => !arn.includes(":Bucket/"));
    expect(read).toHaveLength(1);
    expect(read[0]).not.toContain("*");
  });

  test("grants to handlers reach containers, too", () => {
    const granted = synthesize({ containers: {} }, (pipeline) => {
      const bucket = new Bucket(new Stack(pipeline.node.root as App, "App"), "Invoices");
      pipeline.grantToTasks(bucket, "read");
    });
    const policies = allOf(granted.service, "AWS::IAM::Policy").filter(({ statements }) =>
      statements.some(({ Action }) => [Action].flat().includes("s3:GetBucket*")),
    );
    expect(policies.map(({ name }) => name.split("/")[0]).sort()).toEqual([
      ...["Containers", "CriticalWorker", "HighWorker", "LowWorker", "NormalWorker"],
    ]);
  });
});

describe("the service", () => {
  test("the template sets no number of containers, which would undo the scaling", () => {
    expect(service.get("DesiredCount")).toBeUndefined();
  });

  test("a deployment that fails is rolled back, and old containers stay until new ones run", () => {
    expect(service.get("DeploymentConfiguration")).toEqual({
      DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      MaximumPercent: 200,
      MinimumHealthyPercent: 100,
    });
    expect(service.get("AvailabilityZoneRebalancing")).toBe("DISABLED");
  });

  test("the cluster offers Fargate and Fargate Spot before the service uses them", () => {
    expect(only(usual, "AWS::ECS::Cluster").get("CapacityProviders")).toEqual(["FARGATE", "FARGATE_SPOT"]);
    expect(service.get("CapacityProviderStrategy")).toEqual([{ CapacityProvider: "FARGATE", Weight: 1 }]);
  });

  test("submit, control and fire are updated after it, so that no task has a type that it does not know", () => {
    const { Resources } = usual.service.toJSON() as { Resources: Record<string, { DependsOn?: string[] }> };
    for (const name of ["Submit", "Control", "Fire"]) {
      const { logicalId } = resources(usual.service, "AWS::Lambda::Function")(`${name}/Function`);
      expect(Resources[logicalId]?.DependsOn).toContain(service.logicalId);
    }
  });

  test("nothing reaches a container, and it has a public address instead of a NAT gateway", () => {
    expect(service.get("NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp")).toBe("ENABLED");
    expect(allOf(usual.service, "AWS::EC2::NatGateway")).toEqual([]);
    expect(only(usual, "AWS::EC2::SecurityGroup").get("SecurityGroupIngress")).toBeUndefined();
    expect(allOf(usual.service, "AWS::EC2::SecurityGroupIngress")).toEqual([]);
  });
});

describe("the network", () => {
  const vpcOf = (app: App, subnetType: SubnetType) =>
    new Vpc(new Stack(app, "App"), "Vpc", {
      natGateways: subnetType === SubnetType.PRIVATE_WITH_EGRESS ? 1 : 0,
      subnetConfiguration: [
        { name: "Own", subnetType },
        ...(subnetType === SubnetType.PUBLIC ? [] : [{ name: "Front", subnetType: SubnetType.PUBLIC }]),
      ],
    }) as never;

  test("containers are in the workers' VPC and group, if these have one", () => {
    const shared = synthesize((app) => ({ vpc: vpcOf(app, SubnetType.PRIVATE_WITH_EGRESS), containers: {} }));
    const network = only(shared, "AWS::ECS::Service").get("NetworkConfiguration.AwsvpcConfiguration");
    expect(network).toMatchObject({ AssignPublicIp: "DISABLED" });
    expect(JSON.stringify(network)).toContain("OwnSubnet1");
    expect(allOf(shared.service, "AWS::EC2::SecurityGroup").map(({ name }) => name)).toEqual(["WorkersSecurityGroup"]);
    expect(allOf(shared.service, "AWS::EC2::VPC")).toEqual([]);
  });

  test("containers can have a VPC of their own choice", () => {
    const own = synthesize((app) => ({ containers: { vpc: vpcOf(app, SubnetType.PUBLIC) } }));
    const network = only(own, "AWS::ECS::Service").get("NetworkConfiguration.AwsvpcConfiguration");
    expect(network).toMatchObject({ AssignPublicIp: "ENABLED" });
    const inVpc = allOf(own.service, "AWS::Lambda::Function").filter((fn) => fn.get("VpcConfig") !== undefined);
    expect(inVpc).toEqual([]);
  });
});

describe("the scaling", () => {
  const alarmOf = resources(usual.service, "AWS::CloudWatch::Alarm");
  const policyOf = resources(usual.service, "AWS::ApplicationAutoScaling::ScalingPolicy");
  const expressionOf = (name: string) => {
    const alarm = alarmOf(`Containers/Scaling/${name}`);
    const [math] = alarm.list<{ Expression?: string }>("Metrics");
    return math?.Expression ?? "";
  };
  const metrics = (waiting: number | undefined, inFlight: number | undefined, containers?: number) => ({
    ...Object.fromEntries(
      tiers.flatMap((tier) => [
        [`${tier}Waiting`, undefined],
        [`${tier}Running`, undefined],
      ]),
    ),
    lowWaiting: waiting,
    lowRunning: inFlight,
    containers,
  });

  test("the number of containers goes from 0 to 10", () => {
    const target = only(usual, "AWS::ApplicationAutoScaling::ScalableTarget");
    expect([target.get("MinCapacity"), target.get("MaxCapacity")]).toEqual([0, 10]);
    expect(target.get("ScalableDimension")).toBe("ecs:service:DesiredCount");
    expect(inService(usual, target.get("ResourceId"))).toBe(
      "service/Containers/Cluster/Containers/Service/Service.Name",
    );
  });

  test("messages that wait for two minutes add containers", () => {
    const alarm = alarmOf("Containers/Scaling/OutAlarm");
    expect(evaluate(expressionOf("OutAlarm"), metrics(7, 3))).toBe(7);
    expect([alarm.get("Threshold"), alarm.get("EvaluationPeriods")]).toEqual([1, 2]);
    expect(alarm.get("ComparisonOperator")).toBe("GreaterThanOrEqualToThreshold");
    expect(policyOf("Containers/Scaling/Out").get("StepScalingPolicyConfiguration.AdjustmentType")).toBe(
      "ChangeInCapacity",
    );
  });

  test.each([
    ["messages wait", metrics(1, 8, 4), 11],
    ["no container runs, although one is starting", metrics(0, 0, undefined), undefined],
    ["attempts need two containers", metrics(0, 5, 4), 2],
    ["no attempt runs", metrics(0, 0, 4), 0],
    ["the queues have no metrics yet", metrics(undefined, undefined, 1), undefined],
  ])("the scale-in sees, when %s, the right value", (_, values, expected) => {
    expect(evaluate(expressionOf("InAlarm"), values)).toBe(expected);
  });

  test("containers are removed when no message has waited for ten minutes, and never because data is missing", () => {
    const alarm = alarmOf("Containers/Scaling/InAlarm");
    expect([alarm.get("Threshold"), alarm.get("EvaluationPeriods")]).toEqual([11, 10]);
    expect(alarm.get("ComparisonOperator")).toBe("LessThanThreshold");
    expect(alarm.get("TreatMissingData")).toBe("notBreaching");
  });

  test("each alarm calls its policy, and no person", () => {
    for (const [name, policy] of [
      ["OutAlarm", "Out"],
      ["InAlarm", "In"],
    ] as const) {
      const actions = alarmOf(`Containers/Scaling/${name}`).list("AlarmActions");
      expect(actions.map((one) => inService(usual, one))).toEqual([`Containers/Scaling/${policy}`]);
    }
  });

  test("an alarm has at most the ten metrics that CloudWatch allows", () => {
    for (const name of ["OutAlarm", "InAlarm"]) {
      const stats = alarmOf(`Containers/Scaling/${name}`)
        .list<{ MetricStat?: object }>("Metrics")
        .filter(({ MetricStat }) => MetricStat !== undefined);
      expect(stats.length).toBeLessThanOrEqual(10);
    }
  });

  /** The adjustment of the step in whose interval a metric is, as AWS chooses it. */
  function adjusted(steps: ReturnType<typeof inSteps>, difference: number): number {
    const found = steps.filter(({ metricIntervalLowerBound: low, metricIntervalUpperBound: high }) => {
      const from = low === undefined || (difference >= 0 ? difference >= low : difference > low);
      return from && (high === undefined || (difference >= 0 ? difference < high : difference <= high));
    });
    expect(found).toHaveLength(1);
    return found[0]?.scalingAdjustment ?? Number.NaN;
  }

  test.each([1, 3, 20, 21, 100, 500])("with up to %d containers, steps add enough for all messages", (maxTasks) => {
    for (const concurrency of [1, 4]) {
      const steps = outSteps(maxTasks, concurrency);
      expect(steps.length).toBeLessThanOrEqual(20);
      for (let waiting = 1; waiting <= maxTasks * concurrency + 1; waiting++) {
        const least = Math.min(maxTasks, Math.ceil(waiting / concurrency));
        expect(adjusted(steps, waiting - 1)).toBeGreaterThanOrEqual(least);
      }
      expect(adjusted(steps, 0)).toBe(1);
    }
  });

  test.each([1, 3, 20, 21, 100, 500])("with up to %d containers, no step removes one that is needed", (maxTasks) => {
    const steps = inSteps(maxTasks);
    expect(steps.length).toBeLessThanOrEqual(20);
    for (let count = 0; count <= maxTasks; count++) {
      expect(adjusted(steps, count - (maxTasks + 1))).toBeGreaterThanOrEqual(count);
    }
    expect(adjusted(steps, 0 - (maxTasks + 1))).toBe(0);
  });
});

describe("the observation", () => {
  const alarmNames = allOf(usual.service, "AWS::CloudWatch::Alarm").map(({ name }) => name);

  test.each(["containers-stopped", "containers-behind"] as const)("there is the alarm %s", (name) => {
    expect(runbookSections).toContain(name);
    expect(alarmNames).toContain(`Alarms/${name}`);
  });

  test("messages that wait while no attempt runs are an alarm; a backlog with running attempts is none", () => {
    const alarm = resources(usual.service, "AWS::CloudWatch::Alarm")("Alarms/containers-stopped");
    const [math] = alarm.list<{ Expression?: string }>("Metrics");
    const none = Object.fromEntries(
      tiers.flatMap((tier) => [
        [`${tier}Waiting`, 0],
        [`${tier}Running`, 0],
      ]),
    );
    expect(evaluate(math?.Expression ?? "", none)).toBe(0);
    expect(evaluate(math?.Expression ?? "", { ...none, lowWaiting: 3 })).toBe(1);
    expect(evaluate(math?.Expression ?? "", { ...none, lowWaiting: 3, highRunning: 1 })).toBe(0);
  });

  test("the wake function has the alarms of functions", () => {
    expect(alarmNames).toContain("Alarms/wake-failing-functions");
  });

  test("the dashboard shows containers, their queues and their cost", () => {
    const titles = widgetsOf(usual).map(({ properties }) => properties.title ?? properties.markdown ?? "");
    expect(titles).toEqual(expect.arrayContaining(["## Container workers", "Containers", "Messages that wait"]));
    expect(JSON.stringify(widgetsOf(usual))).toContain("Fargate");
  });

  test("the saved queries read the containers' log", () => {
    const [query] = allOf(usual.service, "AWS::Logs::QueryDefinition").filter(({ name }) => name.endsWith("crashes"));
    expect(query?.list("LogGroupNames").map((one) => inService(usual, one))).toContain("Containers/Logs");
  });
});

describe("the options", () => {
  test("all of them can be set", () => {
    const all = synthesizeChecked({
      containers: {
        ...{ cpu: 4096, memoryMiB: 16_384, maxTasks: 40, minTasks: 2, concurrency: 1, spot: true, drainSeconds: 110 },
        image: ContainerImage.fromRegistry("example.com/ffmpeg:7"),
      },
    });
    const one = containerOf(only(all, "AWS::ECS::TaskDefinition"));
    expect(containersOf(only(all, "AWS::ECS::TaskDefinition")).map(({ Image }) => Image)).toEqual(
      Array(2).fill("example.com/ffmpeg:7"),
    );
    expect(environment(all, one)).toMatchObject({
      OFFLOAD_WORK_CONCURRENCY: "1",
      OFFLOAD_WORK_DRAIN_SECONDS: "110",
      OFFLOAD_WORK_MEMORY_MB: "9830",
    });
    const target = only(all, "AWS::ApplicationAutoScaling::ScalableTarget");
    expect([target.get("MinCapacity"), target.get("MaxCapacity")]).toEqual([2, 40]);
    expect(only(all, "AWS::ECS::Service").get("CapacityProviderStrategy")).toEqual([
      { CapacityProvider: "FARGATE_SPOT", Weight: 1 },
    ]);
  });

  test("with maxTasks 0 there are the queues only, for workers that run elsewhere", () => {
    const { service: template, data } = synthesizeChecked({ containers: { maxTasks: 0 }, types: [video] });
    expect(allOf(template, "AWS::ECS::Service")).toEqual([]);
    expect(allOf(data, "AWS::SQS::Queue").filter(({ name }) => name.startsWith("Containers/"))).toHaveLength(4);
    const submit = resources(template, "AWS::Lambda::Function")("Submit/Function");
    expect(submit.get("Environment.Variables.OFFLOAD_WAKE_FUNCTION")).toBeUndefined();
    expect(submit.get("Environment.Variables.OFFLOAD_CONTAINER_QUEUE_URLS")).toBeDefined();
  });

  test.each<[ContainerOptions, string]>([
    [{ cpu: 1000 }, "containers.cpu must be one of 256, 512, 1024, 2048, 4096, 8192, 16384; got 1000"],
    [
      { memoryMiB: 1024 },
      "containers.memoryMiB must be 2048 to 8192 in steps of 1024 with containers.cpu 1024; got 1024",
    ],
    [{ cpu: 256, memoryMiB: 1536 }, "containers.memoryMiB must be 512, 1024 or 2048 with containers.cpu 256; got 1536"],
    [{ maxTasks: 501 }, "containers.maxTasks must be a whole number from 0 to 500; got 501"],
    [{ minTasks: 11 }, "containers.minTasks must be a whole number from 0 to 10"],
    [{ concurrency: 0 }, "containers.concurrency must be a whole number from 1 to 1000; got 0"],
    [{ drainSeconds: 111 }, "containers.drainSeconds must be a whole number from 0 to 110; got 111"],
    [{ vpcSubnets: {} }, "vpcSubnets and securityGroups need a VPC"],
  ])("the options %j are refused", (containers, message) => {
    expect(() => synthesize({ containers })).toThrow(message);
  });

  test.each([[256], [2048], [16_384]])("%d CPU units have a memory by default that Fargate offers", (cpu) => {
    expect(() => synthesize({ containers: { cpu } })).not.toThrow();
  });

  test("the variables of handlers have less room beside the URLs of the queues", () => {
    const environment = { API_BASE: "x".repeat(1_500) };
    expect(() => synthesize({ environment })).not.toThrow();
    expect(() => synthesize({ environment, containers: {} })).toThrow("at most 1400 fit beside Offload's own");
  });

  test("a task type that needs container workers is refused without them", () => {
    expect(() => synthesize({ types: [video] })).toThrow(
      'the task type video has runsOn: "container", but this deployment has no container workers: set `containers: {}`',
    );
  });

  test("without the option nothing of it is there", () => {
    const { service: template, data } = stage("dev");
    const all = JSON.stringify([template.toJSON(), data.toJSON()]);
    expect(all).not.toMatch(/AWS::ECS|AWS::EC2|CONTAINER_QUEUE|wake/);
  });
});
