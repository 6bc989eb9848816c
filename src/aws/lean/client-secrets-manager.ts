import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class GetSecretValueCommand extends Command {}

/** A small replacement for the SDK's client of Secrets Manager. */
export class SecretsManagerClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const contentType = "application/x-amz-json-1.1";
    this.#service = new Service({ name: "secretsmanager", id: "secrets_manager", contentType }, config);
  }

  /** @throws AwsError when Secrets Manager refused the request; Error with Node's code when no answer came */
  send(command: GetSecretValueCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": "secretsmanager.GetSecretValue" },
      body: JSON.stringify(command.input),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
