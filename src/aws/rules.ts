import {
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  DeleteScheduleCommand,
  type SchedulerClient,
  UpdateScheduleCommand,
} from "#aws-sdk/client-scheduler";
import { PortUnavailable } from "../core/model/errors.ts";
import { RuleRefused } from "../core/schedules/cron.ts";
import type { Rules, SchedulerRule } from "../core/schedules/ports.ts";
import { ruleInput } from "../core/schedules/rule-input.ts";
import { isNamed, viaPort } from "./errors.ts";
import type { SchedulerConfig } from "./scheduler-settings.ts";

const port = "the scheduler";

/**
 * The request that creates or replaces a rule. The rule fires in its exact minute, and deletes itself after its end.
 */
export function ruleRequest(config: SchedulerConfig, rule: SchedulerRule): CreateScheduleCommandInput {
  return {
    Name: rule.name,
    GroupName: config.scheduleGroup,
    ScheduleExpression: rule.expression,
    ScheduleExpressionTimezone: rule.timezone,
    ...(rule.startAt === undefined ? {} : { StartDate: new Date(rule.startAt) }),
    ...(rule.endAt === undefined ? {} : { EndDate: new Date(rule.endAt) }),
    State: rule.enabled ? "ENABLED" : "DISABLED",
    FlexibleTimeWindow: { Mode: "OFF" },
    ActionAfterCompletion: "DELETE",
    Target: {
      Arn: config.fireArn,
      RoleArn: config.schedulerRoleArn,
      Input: ruleInput(rule.payload),
      DeadLetterConfig: { Arn: config.schedulerDlqArn },
    },
  };
}

/** The rules of schedules in EventBridge Scheduler. */
export class SchedulerRules implements Rules {
  readonly #client: SchedulerClient;
  readonly #config: SchedulerConfig;

  constructor(client: SchedulerClient, config: SchedulerConfig) {
    this.#client = client;
    this.#config = config;
  }

  async put(rule: SchedulerRule): Promise<void> {
    const request = ruleRequest(this.#config, rule);
    try {
      await viaPort(port, this.#createOrUpdate(request));
    } catch (error) {
      if (isAboutRule(error)) throw new RuleRefused(error.message, { cause: error });
      // Another writer is changing the same rule.
      const busy = isNamed(error, "ConflictException") || isNamed(error, "ResourceNotFoundException");
      throw busy ? new PortUnavailable(port, { cause: error }) : error;
    }
  }

  async delete(name: string): Promise<void> {
    const command = new DeleteScheduleCommand({ Name: name, GroupName: this.#config.scheduleGroup });
    try {
      await viaPort(port, this.#client.send(command));
    } catch (error) {
      if (isNamed(error, "ConflictException")) throw new PortUnavailable(port, { cause: error });
      if (!isNamed(error, "ResourceNotFoundException")) throw error;
    }
  }

  async #createOrUpdate(request: CreateScheduleCommandInput): Promise<void> {
    try {
      await this.#client.send(new CreateScheduleCommand(request));
    } catch (error) {
      if (!isNamed(error, "ConflictException")) throw error;
      await this.#client.send(new UpdateScheduleCommand(request));
    }
  }
}

/**
 * True when AWS refused a value that the client sent. Other refusals concern roles and targets, which clients cannot
 * set.
 */
const isAboutRule = (error: unknown): error is Error =>
  isNamed(error, "ValidationException") && /expression|timezone|time zone|start ?date|end ?date/i.test(error.message);
