import { Stack, Token } from "aws-cdk-lib";
import { Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { parseAllowedHost } from "../src/core/notify/allowed-hosts.ts";
import type { SettingTexts } from "../src/settings/config.ts";
import { allowTable, allowTableKeys } from "./access.ts";
import type { DataStack } from "./data-stack.ts";
import type { Dispatch } from "./dispatch.ts";
import { type CommonProps, PipelineFunction } from "./function.ts";
import { allowNetwork, networkOf, type WebhookNetworkOptions } from "./network.ts";
import type { Push } from "./push.ts";
import { notifyTimeout } from "./queue.ts";
import { settingError } from "./setting-error.ts";
import { listText } from "./tokens.ts";

/** The programs that are told of tasks. */
export interface TellOptions {
  /** True: clients can open channels. */
  readonly push: boolean;
  /** Hosts and ports that webhooks may reach although they are not public, such as `receiver.internal:8443`. */
  readonly callbackHosts: readonly string[];
  /** VPC of the function that sends webhooks. Undefined: none. */
  readonly webhookNetwork?: WebhookNetworkOptions | undefined;
}

/** Settings of the functions that tell of tasks. */
export const tellSettings = ({ events }: DataStack, { push }: TellOptions): SettingTexts => ({
  notifyPush: push ? "1" : "0",
  notifyEvents: events === undefined ? "0" : "1",
});

/**
 * Setting of the functions that submit tasks or send webhooks.
 * @throws TypeError for an entry that is not a host with a port
 */
export function callbackSettings({ callbackHosts }: TellOptions): SettingTexts {
  const known = callbackHosts.filter((host) => !Token.isUnresolved(host));
  const wrong = known.find((host) => parseAllowedHost(host) === undefined);
  if (wrong !== undefined) {
    const given = JSON.stringify(wrong);
    throw settingError(`callbackHosts must have hosts with ports, such as "receiver.internal:8443", got ${given}`);
  }
  return callbackHosts.length === 0 ? {} : { callbackHosts: listText(callbackHosts) };
}

export interface NotifyProps extends CommonProps {
  /** Name of the deployment. */
  readonly deployment: string;
  readonly data: DataStack;
  readonly dispatch: Dispatch;
  readonly tell: TellOptions;
  readonly push: Push | undefined;
  readonly timeScale: string;
  /** Maximum of concurrent invocations. */
  readonly maxConcurrency: number;
}

/** Name of the SSM parameter with the master key of webhook secrets. */
const keyNameOf = (deployment: string): string => `/offload/${deployment}/webhook-key`;

/** The function that sends webhooks, pushes to channels and puts events. */
export class Notify extends PipelineFunction {
  private readonly keyName: string;

  constructor(scope: Construct, id: string, props: NotifyProps) {
    const { deployment, data, dispatch, tell, push, timeScale, maxConcurrency, ...common } = props;
    const webhookKeyName = keyNameOf(deployment);
    const network = networkOf(scope, tell.webhookNetwork ?? {}, "notify");
    super(scope, id, {
      name: "notify",
      description: "Offload: sends webhooks, pushes to channels, puts events",
      settings: {
        ...dispatch.settings,
        webhookKeyName,
        ...callbackSettings(tell),
        ...push?.senderSettings,
        ...data.events?.settings,
        timeScale,
      },
      timeout: notifyTimeout,
      // A later try of a webhook is a message to the function's own queue.
      recursive: true,
      network,
      ...common,
    });
    if (network !== undefined) allowNetwork(this);
    this.keyName = webhookKeyName;
    this.takeFrom(data.notifyQueue, { maxConcurrency });
    allowTable(this, data.table, ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"]);
    allowTableKeys(this, data.table, ["Query"], ["receivers#*"]);
    dispatch.allowTell(this);
    data.scheduling.allowCreate(this);
    this.allowKey(this);
    push?.allowSend(this);
    data.events?.allowPut(this);
  }

  /** Settings of functions that use the tenants' webhook secrets. */
  get keySettings(): SettingTexts {
    return { webhookKeyName: this.keyName };
  }

  /**
   * Grants reading the master key of webhook secrets, and creating it. The key is not in the stack: CloudFormation
   * creates no SecureString.
   */
  allowKey(grantee: PipelineFunction): void {
    const key = Stack.of(this).formatArn({
      service: "ssm",
      resource: "parameter",
      resourceName: this.keyName.slice(1),
    });
    const { grantPrincipal } = grantee;
    const actions = ["ssm:GetParameter", "ssm:PutParameter"];
    grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions, resources: [key] }));
    // With another key, all receivers would refuse every webhook.
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: ["ssm:PutParameter"],
        resources: [key],
        conditions: { StringEquals: { "ssm:Overwrite": "true" } },
      }),
    );
  }
}
