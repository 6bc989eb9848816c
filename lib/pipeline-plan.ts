import { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IConstruct } from "constructs";
import { openApiDocument } from "../src/api/openapi/document.ts";
import type { DescribedApp } from "../src/code/describe/described.ts";
import { appSchedules } from "../src/core/schedules/app-schedule.ts";
import { appTriggers } from "../src/core/schedules/define-trigger.ts";
import type { Catalog } from "../src/core/task/catalog.ts";
import { packageVersion } from "../src/installed/installation.ts";
import { type Capacity, capacityOf, checkTimeouts } from "./capacity.ts";
import { type Containers, checkContainerTypes, containersOf } from "./containers.ts";
import type { DataStackProps } from "./data-stack.ts";
import { vendedLogName } from "./encryption.ts";
import type { TaskOptions } from "./load-tasks.ts";
import { checkedNumbers } from "./own-numbers.ts";
import { present, timesOf } from "./pipeline-options.ts";
import type { TaskPipelineProps } from "./pipeline-props.ts";
import { environmentOf, type Place } from "./pipeline-stack.ts";
import { sharesOf } from "./profile.ts";
import type { AppParts, ServiceStackProps } from "./service-stack.ts";
import { removalPolicyOf } from "./stage.ts";
import { jwtSettings, limitSettings, listSettings } from "./tenancy.ts";
import { checkKnown } from "./tokens.ts";

interface Given {
  /** Name of the deployment. */
  readonly name: string;
  readonly stage: string;
  /** True when the deployment keeps its data. */
  readonly keepsData: boolean;
  /** The options for the code of the task types. */
  readonly code: TaskOptions;
}

/** The checked options from which both stacks of a deployment follow. */
interface Plan extends Given {
  readonly place: Place;
  readonly capacity: Capacity;
  readonly containers: Containers | undefined;
  /** Names of the functions that the stack with data refers to, although they are in the other one. */
  readonly fireName: string;
  readonly wakeName: string;
}

/** Options from which others are calculated, or names are made. */
export function checkKnownOptions({ tiers = {}, containers = {}, alarms, ...props }: TaskPipelineProps): void {
  const { stage, deploymentName, deployedAt, tasks, profile, workerMemorySize, accountConcurrency, waits } = props;
  const { external, nodeModules, assets } = props;
  const { image: _, vpc: _vpc, vpcSubnets: _subnets, securityGroups: _groups, ...sizes } = containers;
  checkKnown({ stage, deploymentName, deployedAt, tasks, profile, workerMemorySize, accountConcurrency, waits });
  checkKnown({ tiers, containers: sizes, alarms, external, nodeModules, assets });
}

/** @throws TypeError for options that do not fit each other */
export function planOf(pipeline: IConstruct, given: Given, props: TaskPipelineProps): Plan {
  const { tiers = {}, profile = "standard", deployedAt = pipeline.node.id, env, encryptionKey } = props;
  const capacity = capacityOf(sharesOf(profile), tiers, checkedNumbers(props));
  const containers = props.containers && containersOf(props.containers);
  const place = { pipeline, encryptionKey, idsPath: deployedAt, ...environmentOf(pipeline, env) };
  const { name } = given;
  return { ...given, place, capacity, containers, fireName: `${name}-fire`, wakeName: `${name}-wake` };
}

/** @throws TypeError for options that do not fit the task types */
export function checkTypes(catalog: Catalog, { containers }: Plan, { tiers = {} }: TaskPipelineProps): void {
  checkTimeouts(catalog, tiers);
  checkContainerTypes(catalog, containers);
}

export const dataProps = (
  { name, stage, keepsData, place, containers, fireName, wakeName }: Plan,
  { tiers = {}, cors, events }: TaskPipelineProps,
): DataStackProps => ({
  ...{ stage, keepsData },
  stackName: `${name}-data`,
  ...place,
  fireName,
  deployment: name,
  times: timesOf(tiers),
  ...present({ cors, events: events || undefined }),
  ...(containers !== undefined && { containers: { wakeName: containers.maxTasks > 0 ? wakeName : undefined } }),
});

/** @throws TypeError for schedules and triggers that do not fit the task types */
export const partsOf = ({ catalog, environment, ...app }: DescribedApp, deployment: string): AppParts => ({
  catalog: JSON.stringify(catalog),
  openApi: {
    from: JSON.stringify([catalog, packageVersion()]),
    make: () => JSON.stringify(openApiDocument(catalog, packageVersion())),
  },
  schedules: appSchedules(app.schedules, catalog),
  triggers: appTriggers(app.triggers, catalog, deployment),
  environment,
});

export const serviceProps = (
  { name, stage, keepsData, place, code, capacity, ...names }: Plan,
  { app, data }: Pick<ServiceStackProps, "app" | "data">,
  props: TaskPipelineProps,
): Omit<ServiceStackProps, "observability"> => ({
  ...{ stage, data, app },
  stackName: `${name}-service`,
  ...place,
  deployment: name,
  ...names,
  version: packageVersion(),
  logs: { retention: props.logRetention ?? RetentionDays.ONE_MONTH, removalPolicy: removalPolicyOf(keepsData) },
  ...((props.vendedAccessLog ?? props.dataProtection === false) && { accessLogName: vendedLogName(name) }),
  workers: {
    memorySize: props.workerMemorySize ?? 512,
    files: code.files,
    probes: code.probes,
    handlers: props,
  },
  capacity,
  timeScale: props.timeScale ?? 1,
  ...jwtSettings(props.jwt),
  limitSettings: limitSettings(props.limits, data),
  listSettings: listSettings(props.listShards),
  ...present({ throttle: props.throttle, cors: props.cors, domain: props.domain, tracing: props.tracing }),
  tell: { push: props.push ?? false, callbackHosts: props.callbackHosts ?? [], webhookNetwork: props.webhookNetwork },
});
