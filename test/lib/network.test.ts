import { type App, Stack, Validations } from "aws-cdk-lib";
import { type IVpc, Port, SecurityGroup, SubnetType, Vpc, type VpcProps } from "aws-cdk-lib/aws-ec2";
import { LayerVersion } from "aws-cdk-lib/aws-lambda";
import { describe, expect, test } from "vitest";
import { allOf, type Resource, type Synthesis, synthesize, synthesizeChecked } from "./synthesis.ts";

const workers = ["CriticalWorker", "HighWorker", "LowWorker", "NormalWorker"];

const nameOf = ({ name }: Resource) => name.split("/")[0] ?? "";

/** Names of the functions with a property. */
const having = ({ service }: Synthesis, property: string): string[] =>
  allOf(service, "AWS::Lambda::Function")
    .filter((fn) => fn.get(property) !== undefined)
    .map(nameOf)
    .sort();

/** A VPC in a stack of the app. The CDK's own types do not fit each other under `exactOptionalPropertyTypes`. */
function vpcOf(app: App, props: VpcProps = { maxAzs: 2, natGateways: 1 }): IVpc {
  const vpc = new Vpc(new Stack(app, "App"), "Vpc", props);
  Validations.of(vpc).acknowledge({ id: "AwsSolutions-VPC7", reason: "Flow logs are the app's own decision." });
  return vpc as IVpc;
}

describe("workers in a VPC", () => {
  const inVpc = synthesizeChecked((app) => ({ vpc: vpcOf(app) }));

  test("workers are in its private subnets, and no other function is in it", () => {
    expect(having(inVpc, "VpcConfig")).toEqual(workers);
    const [low] = allOf(inVpc.service, "AWS::Lambda::Function").filter((fn) => nameOf(fn) === "LowWorker");
    expect(low?.list("VpcConfig.SubnetIds")).toHaveLength(2);
    expect(JSON.stringify(low?.get("VpcConfig.SubnetIds"))).toContain("PrivateSubnet1");
  });

  test("all workers have one security group", () => {
    expect(allOf(inVpc.service, "AWS::EC2::SecurityGroup").map(({ name }) => name)).toEqual(["WorkersSecurityGroup"]);
  });

  test("Lambda may attach the workers, and no other function", () => {
    const allowed = allOf(inVpc.service, "AWS::IAM::Policy").filter(({ statements }) =>
      statements.some(({ Action }) => [Action].flat().includes("ec2:CreateNetworkInterface")),
    );
    expect(allowed.map(nameOf).sort()).toEqual(workers);
  });

  test("the pipeline's connections open the security group of a resource in the VPC's stack", () => {
    const synthesis = synthesize(
      (app) => ({ vpc: vpcOf(app) }),
      (pipeline) => {
        const app = pipeline.node.root.node.findChild("App");
        const vpc = app.node.findChild("Vpc") as unknown as IVpc;
        const database = new SecurityGroup(app, "Database", { vpc });
        pipeline.connections.allowTo(database, Port.tcp(5432));
      },
    );
    const [rule] = allOf(synthesis.service, "AWS::EC2::SecurityGroupIngress");
    expect(rule?.get("FromPort")).toBe(5432);
  });

  test("subnets and security groups can be chosen", () => {
    const chosen = synthesize((app) => {
      const vpc = vpcOf(app, {
        subnetConfiguration: [{ name: "Data", subnetType: SubnetType.PRIVATE_ISOLATED }],
        natGateways: 0,
      });
      const group = new SecurityGroup(vpc, "Group", { vpc });
      return { vpc, vpcSubnets: { subnetGroupName: "Data" }, securityGroups: [group] };
    });
    const [low] = allOf(chosen.service, "AWS::Lambda::Function").filter((fn) => nameOf(fn) === "LowWorker");
    expect(JSON.stringify(low?.get("VpcConfig"))).toMatch(/DataSubnet1.*/);
    expect(allOf(chosen.service, "AWS::EC2::SecurityGroup")).toEqual([]);
  });
});

describe("webhooks from fixed addresses", () => {
  const fixed = synthesizeChecked((app) => ({ webhookNetwork: { vpc: vpcOf(app) } }));
  const notifyOf = ({ service }: Synthesis) =>
    allOf(service, "AWS::Lambda::Function").find((fn) => nameOf(fn) === "Notify") ?? expect.fail("no notify");

  test("only the function that sends webhooks is in the VPC, in its private subnets, with a group of its own", () => {
    expect(having(fixed, "VpcConfig")).toEqual(["Notify"]);
    expect(JSON.stringify(notifyOf(fixed).get("VpcConfig.SubnetIds"))).toContain("PrivateSubnet1");
    expect(allOf(fixed.service, "AWS::EC2::SecurityGroup").map(({ name }) => name)).toEqual(["NotifySecurityGroup"]);
  });

  test("Lambda may attach the function, and no other", () => {
    const allowed = allOf(fixed.service, "AWS::IAM::Policy").filter(({ statements }) =>
      statements.some(({ Action }) => [Action].flat().includes("ec2:CreateNetworkInterface")),
    );
    expect(allowed.map(nameOf)).toEqual(["Notify"]);
  });

  test("the workers can be in the same VPC, with a group that is not that of webhooks", () => {
    const both = synthesize((app) => {
      const vpc = vpcOf(app);
      return { vpc, webhookNetwork: { vpc } };
    });
    expect(having(both, "VpcConfig")).toEqual([...workers, "Notify"].sort());
    const names = allOf(both.service, "AWS::EC2::SecurityGroup").map(({ name }) => name);
    expect(names.sort()).toEqual(["NotifySecurityGroup", "WorkersSecurityGroup"]);
  });

  test("a network without a VPC is refused", () => {
    expect(() => synthesize(() => ({ webhookNetwork: {} as never }))).toThrow(/webhookNetwork/);
  });
});

describe("workers without a VPC", () => {
  test("no function is in a VPC", () => {
    expect(having(synthesize(), "VpcConfig")).toEqual([]);
  });

  test("subnets without a VPC are refused", () => {
    expect(() => synthesize({ vpcSubnets: {} })).toThrow("vpcSubnets and securityGroups need a VPC: set `vpc`, too");
  });

  test("there are no connections", () => {
    expect(() => synthesize().pipeline.connections).toThrow("the workers are in no VPC");
  });
});

describe("layers", () => {
  const layer = (app: App, name: string) => {
    const stack = (app.node.tryFindChild("App") ?? new Stack(app, "App")) as Stack;
    return LayerVersion.fromLayerVersionArn(stack, name, `arn:aws:lambda:eu-west-1:123456789012:layer:${name}:1`);
  };

  test("all workers have the layers of all, and a tier its own; no other function has one", () => {
    const synthesis = synthesize((app) => ({
      layers: [layer(app, "sharp")],
      tiers: { low: { layers: [layer(app, "ffmpeg")] } },
    }));
    expect(having(synthesis, "Layers")).toEqual(workers);
    const counts = allOf(synthesis.service, "AWS::Lambda::Function").map((fn) => [
      nameOf(fn),
      fn.list("Layers").length,
    ]);
    expect(Object.fromEntries(counts)).toMatchObject({ LowWorker: 2, HighWorker: 1, Submit: 0 });
  });

  test("more layers than Lambda allows are refused, that of tracing included", () => {
    const tracing = { layerArn: "arn:aws:lambda:eu-central-1:615299751070:layer:AWSOpenTelemetryDistroJs:8" };
    const five = (app: App) => Array.from({ length: 5 }, (_, index) => layer(app, `layer${index}`));
    expect(() => synthesize((app) => ({ layers: five(app) }))).not.toThrow();
    expect(() => synthesize((app) => ({ layers: five(app), tracing }))).toThrow(
      /CriticalWorker has 6 layers, with those of tracing and instrumentation; Lambda allows 5/,
    );
  });
});
