import {
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  DeleteScheduleCommand,
  type SchedulerClient,
} from "#aws-sdk/client-scheduler";
import type { FirePayload, OneOffs } from "../core/ports/tasks.ts";
import { isNamed, viaPort } from "./errors.ts";
import type { SchedulerConfig } from "./scheduler-settings.ts";

const port = "the scheduler";

/**
 * The request for a one-off schedule. It deletes itself. A firing that cannot be delivered goes to its dead-letter
 * queue.
 */
export function oneOffRequest(
  config: SchedulerConfig,
  { name, at, payload }: { name: string; at: string; payload: FirePayload },
): CreateScheduleCommandInput {
  return {
    Name: name,
    GroupName: config.scheduleGroup,
    ScheduleExpression: `at(${at.slice(0, 19)})`,
    ScheduleExpressionTimezone: "UTC",
    FlexibleTimeWindow: { Mode: "OFF" },
    ActionAfterCompletion: "DELETE",
    Target: {
      Arn: config.fireArn,
      RoleArn: config.schedulerRoleArn,
      Input: JSON.stringify(payload),
      DeadLetterConfig: { Arn: config.schedulerDlqArn },
    },
  };
}

/** One-off schedules in EventBridge Scheduler. */
export class SchedulerOneOffs implements OneOffs {
  readonly #client: SchedulerClient;
  readonly #config: SchedulerConfig;

  constructor(client: SchedulerClient, config: SchedulerConfig) {
    this.#client = client;
    this.#config = config;
  }

  async create(oneOff: { name: string; at: string; payload: FirePayload }): Promise<void> {
    try {
      await viaPort(port, this.#client.send(new CreateScheduleCommand(oneOffRequest(this.#config, oneOff))));
    } catch (error) {
      if (!isNamed(error, "ConflictException")) throw error;
    }
  }

  async delete(name: string): Promise<void> {
    const command = new DeleteScheduleCommand({ Name: name, GroupName: this.#config.scheduleGroup });
    try {
      await viaPort(port, this.#client.send(command));
    } catch (error) {
      if (!isNamed(error, "ResourceNotFoundException")) throw error;
    }
  }
}
