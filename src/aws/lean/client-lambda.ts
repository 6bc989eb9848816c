import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class InvokeCommand extends Command {}

/** A small replacement for the SDK's client of Lambda. */
export class LambdaClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    this.#service = new Service({ name: "lambda", contentType: "application/json" }, config);
  }

  /** @throws AwsError when Lambda refused the request; Error with Node's code when no answer came */
  send({ input: { FunctionName, InvocationType = "RequestResponse" } }: InvokeCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: `/2015-03-31/functions/${encodeURIComponent(String(FunctionName))}/invocations`,
      headers: { "x-amz-invocation-type": String(InvocationType) },
      body: "{}",
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
