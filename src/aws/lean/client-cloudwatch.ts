import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

export class GetMetricDataCommand extends Command {}
export class DescribeAlarmsCommand extends Command {}

/** A small replacement for the SDK's CloudWatch client. Dates are sent as epoch seconds. */
export class CloudWatchClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    const spec = { name: "monitoring", id: "cloudwatch", contentType: "application/x-amz-json-1.0" } as const;
    this.#service = new Service(spec, config);
  }

  /** @throws AwsError when CloudWatch refused the request; Error with Node's code when no answer came */
  send(command: GetMetricDataCommand | DescribeAlarmsCommand): Promise<Fields> {
    const action = command instanceof DescribeAlarmsCommand ? "DescribeAlarms" : "GetMetricData";
    const fields = Object.entries(command.input).map(([name, value]) => [
      name,
      value instanceof Date ? value.getTime() / 1000 : value,
    ]);
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": `GraniteServiceVersion20100801.${action}` },
      body: JSON.stringify(Object.fromEntries(fields)),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
