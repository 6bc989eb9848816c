import { App, Duration, Lazy } from "aws-cdk-lib";
import { expect, test } from "vitest";
import { checkProps } from "../../lib/checked-props.ts";
import { pipelineOf } from "../support/pipeline-of.ts";
import { echo } from "./synthesis.ts";

/** Properties from JavaScript, or from a spread that TypeScript does not look into, and what the message says about each. */
test.each<[Record<string, unknown>, string]>([
  [{ stages: "prod" }, "stages is not an option; did you mean stage?"],
  [{ alarmMail: "a@example.com" }, "alarmMail is not an option; did you mean alarmEmail"],
  [{ workerMemory: 512 }, "workerMemory is not an option; did you mean workerMemorySize?"],
  [{ description: "ours" }, "description is not an option; expected one of"],
  [{ tiers: { normaal: { batchSize: 1 } } }, "tiers.normaal is not an option; did you mean tiers.normal?"],
  [{ tiers: { low: { batchsize: 1 } } }, "tiers.low.batchsize is not an option; did you mean tiers.low.batchSize?"],
  [{ tiers: { low: 3 } }, "tiers.low must be an object of options, got 3"],
  [
    { tiers: { low: { timeout: 60 } } },
    "tiers.low.timeout must be a Duration of the CDK, such as Duration.minutes(5), got 60",
  ],
  [{ tiers: { low: { provisionedPollers: { minimum: 1 } } } }, "tiers.low.provisionedPollers needs maximum"],
  [{ containers: { memoryMb: 1024 } }, "containers.memoryMb is not an option; did you mean containers.memoryMiB?"],
  [{ containers: true }, "containers must be an object of options, got true"],
  [{ throttle: { rate: 5 } }, "throttle.rate is not an option; expected one of throttle.requestsPerSecond"],
  [{ domain: { name: "api.example.com" } }, "domain needs certificate"],
  [{ events: { bus: "shop" } }, "events.bus is not an option; did you mean events.busName?"],
  [{ events: "shop" }, 'events must be true or false, or an object of options, got "shop"'],
  [{ jwt: { issuer: "https://id.example.com" } }, "jwt needs audience"],
  [
    { jwt: { issuer: "https://id.example.com", audience: "a", clockSkew: 30 } },
    "jwt.clockSkew must be a Duration of the CDK",
  ],
  [
    { jwt: { issuer: "https://id.example.com", audience: "a", console: { client: "b" } } },
    "jwt.console.client is not an option",
  ],
  [{ limits: { tenant: {} } }, "limits.tenant is not an option; did you mean limits.tenants?"],
  [{ limits: { tenants: { submits_per_second: 5 } } }, "did you mean limits.tenants.submitsPerSecond?"],
  [{ alarms: { errorPercentage: 5 } }, "alarms.errorPercentage is not an option; did you mean alarms.errorPercent?"],
  [{ alarms: { processing: { low: 30 } } }, "alarms.processing.low must be a Duration of the CDK"],
  [{ alarms: true }, "alarms must be false, or an object of options, got true"],
  [{ push: "yes" }, 'push must be true or false, got "yes"'],
  [{ dataProtection: "false" }, 'dataProtection must be true or false, got "false"'],
  [{ callbackHosts: "receiver:8443" }, 'callbackHosts must be a list, got "receiver:8443"'],
  [{ nodeModules: "sharp" }, 'nodeModules must be a list, got "sharp"'],
  [{ environment: { RETRIES: 5 } }, "environment.RETRIES must be a text, got 5"],
  [{ secrets: { DB: 5 } }, "secrets.DB must be a secret's name, an object of options, or a secret or parameter"],
  [{ vpc: "vpc-1" }, 'vpc must be a VPC of the CDK, such as Vpc.fromLookup(...), got "vpc-1"'],
  [{ securityGroups: ["sg-1"] }, "securityGroups must be a list, and each in it a security group of the CDK"],
  [{ encryptionKey: "arn:aws:kms:eu-central-1:1:key/a" }, "encryptionKey must be a key of the CDK"],
  [{ layers: ["arn:aws:lambda:eu-central-1:1:layer:a:1"] }, "layers must be a list, and each in it a layer of the CDK"],
  [{ tiers: { low: { layers: ["arn:aws:lambda:eu-central-1:1:layer:a:1"] } } }, "tiers.low.layers must be a list"],
  [{ policies: ["ReadOnlyAccess"] }, "policies must be a list, and each in it a PolicyStatement of the CDK"],
  [{ domain: { name: "api.example.com", certificate: "arn:aws:acm:..." } }, "domain.certificate must be a certificate"],
  [{ logRetention: "ONE_MONTH" }, 'logRetention must be a value of RetentionDays of the CDK, got "ONE_MONTH"'],
  [{ logRetention: 42 }, "logRetention must be a value of RetentionDays of the CDK, got 42"],
  [{ alarmEmail: "" }, 'alarmEmail must be an e-mail address, got ""'],
  [{ alarmEmail: "the team" }, 'alarmEmail must be an e-mail address, got "the team"'],
  [{ alarmTopicArn: "alarms" }, 'alarmTopicArn must be the ARN of an SNS topic, got "alarms"'],
])("%j is refused: %s", (props, message) => {
  const refused = () => pipelineOf(new App(), { types: [echo] }, props as never);
  expect(refused).toThrow(TypeError);
  expect(refused).toThrow(message);
});

test("a pipeline without properties needs an object", () => {
  expect(() => checkProps(undefined)).toThrow("TaskPipeline: the argument must be an object of options, got undefined");
});

test("values that only the deployment knows, and options that are left undefined, pass", () => {
  const lazy = Lazy.any({ produce: () => true });
  const list = Lazy.list({ produce: () => ["receiver:8443"] });
  const number = Lazy.number({ produce: () => 5 });
  const props = {
    ...{ stage: undefined, alarms: false, events: true, push: lazy, callbackHosts: list },
    ...{ throttle: { burst: number }, tiers: { low: { timeout: Duration.minutes(2) } } },
    ...{ jwt: { issuer: Lazy.string({ produce: () => "i" }), audience: "a", clockSkew: Duration.seconds(5) } },
  };
  expect(() => checkProps(props)).not.toThrow();
});
