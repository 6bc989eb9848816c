import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class GetParameterCommand extends Command {}

/** A small replacement for the SDK's client of SSM Parameter Store. */
export class SSMClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const contentType = "application/x-amz-json-1.1";
    this.#service = new Service({ name: "ssm", contentType }, config);
  }

  /** @throws AwsError when SSM refused the request; Error with Node's code when no answer came */
  send(command: GetParameterCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": "AmazonSSM.GetParameter" },
      body: JSON.stringify(command.input),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
