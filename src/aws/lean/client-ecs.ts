import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

/** An operation on a service of ECS. */
abstract class EcsCommand extends Command {
  /** Name of the operation in the API of ECS. */
  abstract readonly operation: string;
}

export class DescribeServicesCommand extends EcsCommand {
  readonly operation = "DescribeServices";
}

export class UpdateServiceCommand extends EcsCommand {
  readonly operation = "UpdateService";
}

/** A small replacement for the SDK's client of ECS. */
export class ECSClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    this.#service = new Service({ name: "ecs", contentType: "application/x-amz-json-1.1" }, config);
  }

  /** @throws AwsError when ECS refused the request; Error with Node's code when no answer came */
  send(command: EcsCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": `AmazonEC2ContainerServiceV20141113.${command.operation}` },
      body: JSON.stringify(command.input),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
