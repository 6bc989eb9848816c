import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class GetMetricDataCommand extends Command {}

/** Stands in for the SDK's client of CloudWatch. Times go as seconds. */
export class CloudWatchClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const spec = { name: "monitoring", id: "cloudwatch", contentType: "application/x-amz-json-1.0" } as const;
    this.#service = new Service(spec, config);
  }

  /** @throws AwsError for what CloudWatch refused; Error with Node's code when no answer came */
  send(command: GetMetricDataCommand): Promise<Fields> {
    const fields = Object.entries(command.input).map(([name, value]) => [
      name,
      value instanceof Date ? value.getTime() / 1000 : value,
    ]);
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": "GraniteServiceVersion20100801.GetMetricData" },
      body: JSON.stringify(Object.fromEntries(fields)),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
