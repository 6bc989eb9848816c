import { ArnFormat, Fn, RemovalPolicy, Stack, Token } from "aws-cdk-lib";
import { EventBus } from "aws-cdk-lib/aws-events";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { offloadSource } from "../src/core/schedules/bus-event.ts";
import type { SettingTexts } from "../src/settings/config.ts";
import { isArn } from "./tokens.ts";

/** An event bus that exists already. */
export interface ExistingBus {
  /** Name of the bus, or its ARN: also `bus.eventBusName` or `bus.eventBusArn` of a bus in the app. */
  readonly busName: string;
}

export interface OwnEventBusProps {
  /** Name of the deployment: the name of a new bus, and part of the events' source. */
  readonly deployment: string;
  /** True: a new bus. */
  readonly events: true | ExistingBus;
}

/** The event bus that gets an event for each end of a task. */
export class OwnEventBus extends Construct {
  /** Name or ARN. A text without references, so that each stack can use it. */
  readonly busName: string;
  readonly busArn: string;
  private readonly deployment: string;

  constructor(scope: Construct, id: string, { deployment, events }: OwnEventBusProps) {
    super(scope, id);
    this.deployment = deployment;
    this.busName = events === true ? deployment : events.busName;
    this.busArn = busArnOf(this, this.busName);
    if (events === true) {
      const description = `Ends of tasks of ${deployment}`;
      // It holds no data. A bus that outlived its stack would keep the next bus of its name from being created.
      new EventBus(this, "Bus", { eventBusName: deployment, description }).applyRemovalPolicy(RemovalPolicy.DESTROY);
    }
  }

  /** Settings of the function that puts events. */
  get settings(): SettingTexts {
    return { eventBus: this.busName, eventSource: offloadSource + this.deployment };
  }

  /** Grants putting events on exactly this bus. */
  allowPut(grantee: IGrantable): void {
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ actions: ["events:PutEvents"], resources: [this.busArn] }),
    );
  }
}

/**
 * The name of a bus, from its name or ARN. Of an imported value nobody knows which of the two it is: written twice,
 * with the separator of ARNs between, it has the name in the second place in both cases.
 */
export function busNameIn(bus: string): string {
  const separator = ":event-bus/";
  if (!Token.isUnresolved(bus)) return bus.split(separator)[1] ?? bus;
  if (isArn(bus, false)) return Fn.select(1, Fn.split(separator, bus));
  return isArn(bus, true) ? Fn.select(1, Fn.split(separator, Fn.join(separator, [bus, bus]))) : bus;
}

/** The ARN of a bus of this account and Region, from its name or ARN. */
const busArnOf = (scope: Construct, busName: string): string =>
  isArn(busName, false)
    ? busName
    : Stack.of(scope).formatArn({
        service: "events",
        resource: "event-bus",
        resourceName: busNameIn(busName),
        arnFormat: ArnFormat.SLASH_RESOURCE_NAME,
      });
