import { CfnResource } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { AppSchedule } from "../src/core/schedules/app-schedule.ts";
import { addAppSchedules, furtherPrefix, usualPrefix } from "./app-schedules.ts";
import type { DataStack } from "./data-stack.ts";
import { PipelineStack, type Place, placeOf } from "./pipeline-stack.ts";
import type { ServiceStack } from "./service-stack.ts";

/** CloudFormation's limit of resources in a stack. */
const mostResources = 500;

/**
 * Resources that the service stack has room for when it has handed over schedules: those of grants and of programs that
 * submit directly.
 */
const spareResources = 40;

/** Schedules in one of the further stacks. */
const mostSchedules = 400;

export interface ScheduleStacksProps {
  readonly stage: string;
  /** Name of the deployment. */
  readonly deployment: string;
  readonly place: Place;
  readonly schedules: readonly AppSchedule[];
  readonly data: DataStack;
  readonly service: ServiceStack;
}

/**
 * Adds the rules of the app's schedules: to the service stack if they fit into it, as about 290 do, or else the rest to
 * further stacks. Rules there have names of their own, so that a schedule can change its stack: for a moment both rules
 * exist, and a firing that comes twice submits once.
 */
export function addScheduleStacks(scope: Construct, props: ScheduleStacksProps): void {
  const { schedules, data, service } = props;
  const used = service.node.findAll().filter((one) => CfnResource.isCfnResource(one)).length;
  const fits = used + schedules.length <= mostResources;
  const own = fits ? schedules.length : Math.max(0, mostResources - spareResources - used);
  addAppSchedules(service.fire, schedules.slice(0, own), data.scheduling, usualPrefix);
  for (let start = own; start < schedules.length; start += mostSchedules) {
    const number = Math.floor((start - own) / mostSchedules) + 1;
    const stack = new ScheduleStack(scope, `Schedules${number}`, { ...props, number });
    addAppSchedules(stack, schedules.slice(start, start + mostSchedules), data.scheduling, furtherPrefix);
  }
}

/** Rules of schedules that do not fit into the service stack. */
class ScheduleStack extends PipelineStack {
  constructor(
    scope: Construct,
    id: string,
    { stage, deployment, place, data, service, number }: ScheduleStacksProps & { readonly number: number },
  ) {
    super(scope, id, {
      ...placeOf(place),
      stackName: `${deployment}-schedules-${number}`,
      description: `Offload ${stage}: schedules, part ${number}`,
    });
    data.names.useIn(this);
    // A firing of a new schedule needs the new function.
    this.addStackDependency(service);
  }
}
