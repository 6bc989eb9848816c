import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class FilterLogEventsCommand extends Command {}

/** A small replacement for the SDK's client of CloudWatch Logs. */
export class CloudWatchLogsClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}, env: NodeJS.ProcessEnv = process.env) {
    const spec = { name: "logs", id: "cloudwatch_logs", contentType: "application/x-amz-json-1.1" } as const;
    this.#service = new Service(spec, config, env);
  }

  /** @throws AwsError when CloudWatch Logs refused the request; Error with Node's code when no answer came */
  send(command: FilterLogEventsCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": "Logs_20140328.FilterLogEvents" },
      body: JSON.stringify(command.input),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
