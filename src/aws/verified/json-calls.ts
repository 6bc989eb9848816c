import type { Credentials } from "../lean/environment.ts";
import { type Fields, Service } from "../lean/service.ts";

/** Credentials and Region, as an SDK client finds them. */
interface Resolved {
  credentials: () => Promise<Credentials>;
  region(): Promise<string>;
}

/** Calls of services for which the command has no SDK client. */
export interface JsonCalls {
  logs(operation: string, input: Fields): Promise<Fields>;
  ecs(operation: string, input: Fields): Promise<Fields>;
  metrics(input: Fields): Promise<Fields>;
  traces(ids: readonly string[]): Promise<Fields>;
}

/**
 * @param resolved an SDK client's configuration: it knows profiles and single sign-on, which the small clients do not
 */
export async function jsonCalls(resolved: Resolved, env: NodeJS.ProcessEnv = process.env): Promise<JsonCalls> {
  const credentials = () => resolved.credentials();
  const regional = { ...env, AWS_REGION: await resolved.region() };
  const contentType = "application/x-amz-json-1.1";
  const logs = new Service({ name: "logs", id: "cloudwatch_logs", contentType }, { credentials }, regional);
  const ecs = new Service({ name: "ecs", contentType }, { credentials }, regional);
  const monitoring = { name: "monitoring", id: "cloudwatch", contentType: "application/x-amz-json-1.0" } as const;
  const metrics = new Service(monitoring, { credentials }, regional);
  const xray = new Service({ name: "xray", contentType: "application/json" }, { credentials }, regional);
  const post = (service: Service, target: string, input: Fields) =>
    service.send({ method: "POST", path: "/", headers: { "x-amz-target": target }, body: JSON.stringify(input) });
  return {
    logs: (operation, input) => post(logs, `Logs_20140328.${operation}`, input),
    ecs: (operation, input) => post(ecs, `AmazonEC2ContainerServiceV20141113.${operation}`, input),
    metrics: (input) => post(metrics, "GraniteServiceVersion20100801.GetMetricData", input),
    traces: (ids) => xray.send({ method: "POST", path: "/Traces", body: JSON.stringify({ TraceIds: ids }) }),
  };
}
