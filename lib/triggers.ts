import { Stack } from "aws-cdk-lib";
import { CfnRule } from "aws-cdk-lib/aws-events";
import { ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { ownBus } from "../src/core/schedules/bus-event.ts";
import { type AppTrigger, ruleNameOf } from "../src/core/schedules/trigger.ts";
import { allowSend } from "./access.ts";
import type { OwnEventBus } from "./event-bus.ts";
import { busNameIn } from "./event-bus.ts";
import type { PipelineFunction } from "./function.ts";
import type { Scheduling } from "./scheduling.ts";
import { settingError } from "./setting-error.ts";

export interface TriggersProps {
  /** Name of the deployment, with which the names of its rules start. */
  readonly deployment: string;
  readonly scheduling: Scheduling;
  /** The deployment's own bus. Undefined: it sends no events. */
  readonly bus: OwnEventBus | undefined;
}

/** Limit of EventBridge. */
const longestRuleName = 64;

/**
 * EventBridge tries to invoke fire for a day; then the event goes to the queue of firings, from which fire takes it as
 * well.
 */
const retryPolicy = { maximumEventAgeInSeconds: 86_400, maximumRetryAttempts: 185 };

/**
 * Adds a rule for each of the app's triggers, which invokes fire.
 * @throws Error for a trigger on the own bus of a deployment without one, and for a rule whose name is too long
 */
export function addTriggers(fire: PipelineFunction, triggers: readonly AppTrigger[], props: TriggersProps): void {
  if (triggers.length === 0) return;
  for (const trigger of triggers) addRule(fire, trigger, props);
  for (const bus of new Set(triggers.map((trigger) => trigger.bus))) allowRules(fire, bus, props);
  allowSend(fire, [props.scheduling.dlq]);
}

function addRule(fire: PipelineFunction, { name, bus, pattern }: AppTrigger, props: TriggersProps): void {
  const ruleName = ruleNameOf(props.deployment, name);
  if (ruleName.length > longestRuleName) {
    throw settingError(
      `the trigger ${name}: its rule would be named ${ruleName}; EventBridge allows ${longestRuleName} characters. ` +
        "Give the trigger a shorter name",
    );
  }
  if (bus === ownBus && props.bus === undefined) {
    throw settingError(`the trigger ${name} is on the bus own, but this deployment has none: set events: true`);
  }
  new CfnRule(fire, `Trigger-${name}`, {
    name: ruleName,
    description: `Events that become tasks of ${props.deployment}`,
    eventBusName: busNameOf(bus, props),
    eventPattern: pattern,
    targets: [
      {
        id: "fire",
        arn: fire.function.functionArn,
        // EventBridge replaces the variable by the whole event, as JSON.
        inputTransformer: {
          inputTemplate: `{"kind":"event","trigger":${JSON.stringify(name)},"event":<aws.events.event.json>}`,
        },
        retryPolicy,
        deadLetterConfig: { arn: props.scheduling.firings.queueArn },
      },
    ],
  });
}

const busNameOf = (bus: string, props: TriggersProps): string => (bus === ownBus ? (props.bus?.busName ?? bus) : bus);

/** Names of buses that differ in signs only, such as `shop-events` and `shop.events`, have the same letters. */
function permissionIdOf(fire: PipelineFunction, bus: string): string {
  if (bus === "default") return "Rules";
  const id = `Rules-${bus.replaceAll(/\W/g, "-")}`;
  const isTaken = fire.function.node.tryFindChild(id) !== undefined;
  return isTaken ? `${id}-${Buffer.from(bus).toString("hex")}` : id;
}

/** Allows the deployment's rules of a bus to invoke fire: one permission, as a function's policy has room for few. */
function allowRules(fire: PipelineFunction, bus: string, props: TriggersProps): void {
  const name = busNameIn(busNameOf(bus, props));
  fire.function.addPermission(permissionIdOf(fire, bus), {
    principal: new ServicePrincipal("events.amazonaws.com"),
    sourceArn: Stack.of(fire).formatArn({
      service: "events",
      resource: "rule",
      resourceName: `${name === "default" ? "" : `${name}/`}${ruleNameOf(props.deployment, "*")}`,
    }),
  });
}
