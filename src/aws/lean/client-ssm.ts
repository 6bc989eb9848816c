import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

/** An operation on a parameter. */
abstract class ParameterCommand extends Command {
  /** Name of the operation in SSM's API. */
  abstract readonly operation: string;
}

export class GetParameterCommand extends ParameterCommand {
  readonly operation = "GetParameter";
}

export class PutParameterCommand extends ParameterCommand {
  readonly operation = "PutParameter";
}

/** A small replacement for the SDK's client of SSM Parameter Store. */
export class SSMClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const contentType = "application/x-amz-json-1.1";
    this.#service = new Service({ name: "ssm", contentType }, config);
  }

  /** @throws AwsError when SSM refused the request; Error with Node's code when no answer came */
  send(command: ParameterCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": `AmazonSSM.${command.operation}` },
      body: JSON.stringify(command.input),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
