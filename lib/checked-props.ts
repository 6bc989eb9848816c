import { type Duration, Token } from "aws-cdk-lib";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { tiers } from "../src/core/model/words.ts";
import {
  anything,
  type Check,
  type ChecksOf,
  either,
  flag,
  listOf,
  object,
  optionsFault,
  text,
} from "../src/core/task/check-options.ts";
import type { ThrottleOptions } from "./api.ts";
import type { TierOptions } from "./capacity.ts";
import type { ContainerOptions } from "./containers.ts";
import type { DomainOptions } from "./domain.ts";
import type { ExistingBus } from "./event-bus.ts";
import type { InstrumentationOptions, VendorHandler } from "./instrumentation.ts";
import type { NetworkOptions } from "./network.ts";
import type { AlarmOptions } from "./observability/alarm-options.ts";
import type { TaskPipelineProps } from "./pipeline-props.ts";
import { settingError } from "./setting-error.ts";
import type { ConsoleClient, JwtOptions, LimitOptions, TenantLimits } from "./tenancy.ts";
import type { TracingOptions } from "./tracing.ts";

/** The range of a number, and what the CDK itself takes, are checked where they are read. */
const elsewhere = anything;

/** A value that only the deployment knows is checked by the function that reads it. */
const orToken =
  (check: Check): Check =>
  (value) =>
    Token.isUnresolved(value) ? undefined : check(value);

const switched = orToken(flag);
const off: Check = (value) => (value === false ? undefined : "false");
const name = orToken(text);
const names = orToken(listOf(text));

const duration: Check = (value) =>
  value instanceof Object && typeof (value as Partial<Duration>).toSeconds === "function"
    ? undefined
    : "a Duration of the CDK, such as Duration.minutes(5)";

/** An object of the CDK, by a member that only its kind has. */
const ofCdk =
  (member: string, expected: string): Check =>
  (value) =>
    typeof value === "object" && value !== null && member in value ? undefined : expected;

const vpc = ofCdk("selectSubnets", "a VPC of the CDK, such as Vpc.fromLookup(...)");
const key = ofCdk("addToResourcePolicy", "a key of the CDK, such as new Key(...) or Key.fromKeyArn(...)");
const layers = listOf(ofCdk("layerVersionArn", "a layer of the CDK, such as LayerVersion.fromLayerVersionArn(...)"));
const policies = listOf(ofCdk("toStatementJson", "a PolicyStatement of the CDK"));
const groups = listOf(ofCdk("securityGroupId", "a security group of the CDK"));

const retention: Check = (value) =>
  typeof value === "number" && value in RetentionDays ? undefined : "a value of RetentionDays of the CDK";

/** A text that is known has to match. */
const textLike = (pattern: RegExp, expected: string): Check =>
  orToken((value) => (typeof value === "string" && pattern.test(value) ? undefined : expected));

const secret: Check = (value) =>
  typeof value === "string" || (typeof value === "object" && value !== null)
    ? undefined
    : "a secret's name, an object of options, or a secret or parameter of the CDK";

const email = textLike(/^[^\s@]+@[^\s@]+$/, "an e-mail address");
const topic = textLike(/^arn:[^:]+:sns:/, "the ARN of an SNS topic");

const perTier = (path: string, checkAt: (path: string) => Check): Check =>
  object(path, Object.fromEntries(tiers.map((tier) => [tier, checkAt(`${path}.${tier}`)])));

/** Names that the app chooses, each with a value that passes the check. */
const eachAt =
  (path: string, check: Check): Check =>
  (value) =>
    object(path, Object.fromEntries(Object.keys(Object(value)).map((own) => [own, check])))(value);

const network: ChecksOf<NetworkOptions> = { vpc, vpcSubnets: elsewhere, securityGroups: groups };

const pollers = { minimum: elsewhere, maximum: elsewhere };

const tierChecks = (path: string): ChecksOf<TierOptions> => ({
  maxConcurrency: elsewhere,
  provisionedPollers: object(`${path}.provisionedPollers`, pollers, ["minimum", "maximum"]),
  batchSize: elsewhere,
  batchWindow: duration,
  memorySize: elsewhere,
  timeout: duration,
  layers,
});

const containerChecks: ChecksOf<ContainerOptions> = {
  ...network,
  cpu: elsewhere,
  memoryMiB: elsewhere,
  maxTasks: elsewhere,
  minTasks: elsewhere,
  concurrency: elsewhere,
  spot: switched,
  drainSeconds: elsewhere,
  image: elsewhere,
};

const throttleChecks: ChecksOf<ThrottleOptions> = { requestsPerSecond: elsewhere, burst: elsewhere };
const domainChecks: ChecksOf<DomainOptions> = {
  name,
  certificate: ofCdk("certificateArn", "a certificate of the CDK, such as Certificate.fromCertificateArn(...)"),
  hostedZone: ofCdk("hostedZoneId", "a hosted zone of the CDK, such as HostedZone.fromLookup(...)"),
};
const busChecks: ChecksOf<ExistingBus> = { busName: name };
const tracingChecks: ChecksOf<TracingOptions> = {
  layerArn: name,
  execWrapper: name,
  environment: eachAt("tracing.environment", name),
};
const vendorHandlerChecks: ChecksOf<VendorHandler> = { name: text, originalIn: text };
const instrumentationChecks: ChecksOf<InstrumentationOptions> = {
  layerArns: listOf(name),
  execWrapper: name,
  handler: object("instrumentation.handler", vendorHandlerChecks, ["name", "originalIn"]),
  environment: eachAt("instrumentation.environment", name),
};
const consoleChecks: ChecksOf<ConsoleClient> = { clientId: name, scope: name, origins: names };

const jwtChecks: ChecksOf<JwtOptions> = {
  issuer: name,
  audience: name,
  tenantClaim: name,
  roleClaim: name,
  inputsClaim: name,
  roles: eachAt("jwt.roles", name),
  defaultRole: name,
  jwksUrl: name,
  algorithms: names,
  clockSkew: duration,
  console: object("jwt.console", consoleChecks, ["clientId"]),
};

const tenantChecks: ChecksOf<TenantLimits> = {
  submitsPerSecond: elsewhere,
  burst: elsewhere,
  tasksInProgress: elsewhere,
  requestBytes: elsewhere,
  schedules: elsewhere,
  openUploadBytes: elsewhere,
};

const limitChecks: ChecksOf<LimitOptions> = {
  tenants: object("limits.tenants", tenantChecks),
  depth: perTier("limits.depth", () => elsewhere),
};

const alarmChecks: ChecksOf<AlarmOptions> = {
  runbookUrl: name,
  unheard: switched,
  depth: perTier("alarms.depth", () => elsewhere),
  oldestMessage: perTier("alarms.oldestMessage", () => duration),
  processing: perTier("alarms.processing", () => duration),
  errorPercent: elsewhere,
  leastFailures: elsewhere,
  retryPercent: elsewhere,
  leastRetries: elsewhere,
  throttles: elsewhere,
  functionErrors: elsewhere,
  serverErrorPercent: elsewhere,
  leastServerErrors: elsewhere,
  comingBack: duration,
  failedWebhooks: elsewhere,
  lineWait: duration,
  containersBehind: elsewhere,
};

const checks: ChecksOf<TaskPipelineProps> = {
  ...network,
  stage: name,
  dataProtection: switched,
  deploymentName: name,
  deployedAt: name,
  env: object("env", { account: name, region: name }),
  tasks: name,
  tiers: perTier("tiers", (path) => object(path, tierChecks(path))),
  profile: name,
  containers: object("containers", containerChecks),
  workerMemorySize: elsewhere,
  workerFiles: eachAt("workerFiles", name),
  throttle: object("throttle", throttleChecks),
  cors: eachAt("cors", elsewhere),
  domain: object("domain", domainChecks, ["name", "certificate"]),
  events: either(flag, object("events", busChecks, ["busName"])),
  jwt: object("jwt", jwtChecks, ["issuer", "audience"]),
  limits: object("limits", limitChecks),
  listShards: elsewhere,
  alarmEmail: email,
  alarmTopicArn: topic,
  alarms: either(off, object("alarms", alarmChecks)),
  dashboard: switched,
  push: switched,
  callbackHosts: names,
  webhookNetwork: object("webhookNetwork", network, ["vpc"]),
  tracing: object("tracing", tracingChecks, ["layerArn"]),
  instrumentation: object("instrumentation", instrumentationChecks, ["layerArns"]),
  encryptionKey: key,
  logRetention: retention,
  vendedAccessLog: switched,
  probes: switched,
  timeScale: elsewhere,
  environment: eachAt("environment", name),
  secrets: eachAt("secrets", secret),
  layers,
  policies,
  accountConcurrency: elsewhere,
  waits: elsewhere,
  external: names,
  nodeModules: names,
  assets: names,
};

/**
 * Checks what the compiler does not see: an app in JavaScript, or options from a spread. An option that does not
 * exist would do nothing.
 * @throws TypeError that names the option, and what was expected
 */
export function checkProps(props: unknown): void {
  const fault = optionsFault(props, checks);
  if (fault !== undefined) throw settingError(`TaskPipeline: ${fault}`);
}
