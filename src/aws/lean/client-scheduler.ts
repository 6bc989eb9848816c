import { randomUUID } from "../../util/node-crypto.ts";
import { AwsError } from "./aws-error.ts";
import { type ClientConfig, Command, type Fields, Service, type ServiceRequest } from "./service.ts";

/** An operation on a schedule. */
abstract class ScheduleCommand extends Command {
  abstract request(): ServiceRequest;
}

export class CreateScheduleCommand extends ScheduleCommand {
  request(): ServiceRequest {
    return writing("POST", this.input);
  }
}

export class UpdateScheduleCommand extends ScheduleCommand {
  request(): ServiceRequest {
    return writing("PUT", this.input);
  }
}

export class DeleteScheduleCommand extends ScheduleCommand {
  request(): ServiceRequest {
    const { Name, GroupName, ClientToken = randomUUID() } = this.input;
    const query = {
      clientToken: String(ClientToken),
      ...(GroupName !== undefined && { groupName: String(GroupName) }),
    };
    return { method: "DELETE", path: pathOf(Name), query, body: "" };
  }
}

export class ConflictException extends AwsError {}
export class ResourceNotFoundException extends AwsError {}
export class ValidationException extends AwsError {}

/** A small replacement for the SDK's client of EventBridge Scheduler. */
export class SchedulerClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const errors = { ConflictException, ResourceNotFoundException, ValidationException };
    this.#service = new Service({ name: "scheduler", contentType: "application/json", errors }, config);
  }

  /** @throws AwsError when the Scheduler refused the request; Error with Node's code when no answer came */
  send(command: ScheduleCommand): Promise<Fields> {
    return this.#service.send(command.request());
  }

  destroy(): void {
    this.#service.destroy();
  }
}

/** A create or update request. The token lets AWS recognize a repeated attempt. Dates are sent as epoch seconds. */
function writing(method: string, { Name, ClientToken = randomUUID(), ...input }: Fields): ServiceRequest {
  const fields: Fields = { ...input, ClientToken };
  for (const [field, value] of Object.entries(fields)) {
    if (value instanceof Date) fields[field] = value.getTime() / 1000;
  }
  return { method, path: pathOf(Name), body: JSON.stringify(fields) };
}

const pathOf = (name: unknown): string => `/schedules/${encodeURIComponent(String(name))}`;
