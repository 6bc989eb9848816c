import type { Role } from "../../src/core/identity.ts";
import type { TaskRecord } from "../../src/core/record.ts";
import type { TaskType } from "../../src/core/task.ts";
import type { Api, AuthorizerContext } from "../../src/http/api.ts";
import { controlApi } from "../../src/http/control.ts";
import { Cursors } from "../../src/http/cursor.ts";
import { statusApi } from "../../src/http/status.ts";
import { submitApi } from "../../src/http/submit.ts";
import { echo, memoryPipeline } from "./memory-pipeline.ts";

/** Who asks, as the authorizer says it. */
export const caller = (tenant_id: string, principal: string, role: Role): AuthorizerContext => ({
  tenant_id,
  principal,
  role,
});

export const olga = caller("acme", "olga", "operator");
export const otto = caller("acme", "otto", "operator");
export const gina = caller("globex", "gina", "operator");
export const sam = caller("acme", "sam", "submitter");
export const sue = caller("acme", "sue", "submitter");
export const ada = caller("acme", "ada", "admin");

/** A request without its path. */
export interface Ask {
  method?: string;
  /** Default: an operator. `{}` is nobody. */
  as?: AuthorizerContext;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, in place of `json`. */
  raw?: string | Uint8Array<ArrayBuffer>;
}

/** Asks an app as the gateway would, without a port. Default: GET, or POST where there is a body. */
export async function ask(api: Api, path: string, { as = olga, headers = {}, json, raw, ...rest }: Ask = {}) {
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const type: Record<string, string> = json === undefined ? {} : { "content-type": "application/json" };
  const event = { requestContext: { authorizer: { lambda: as } } } as never;
  const init = {
    method: rest.method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...type, ...headers },
    ...(body === undefined ? {} : { body }),
  };
  const response = await api.request(path, init, { event });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json(): Record<string, unknown> {
      return JSON.parse(text);
    },
  };
}

/** The apps of submit, status and control over one pipeline in memory. */
export function served(types: readonly TaskType[] = [echo]) {
  const pipeline = memoryPipeline(types);
  let ids = 0;
  const ports = {
    ...pipeline.ports,
    cursors: new Cursors("a key that nobody can guess"),
    health: { version: "1.2.3" },
    newCorrelationId: () => `new-${++ids}`,
  };
  const [submit, status, control] = [submitApi(ports), statusApi(ports), controlApi(ports)];

  /** Submits by HTTP, and gives the record. */
  const accepted = async (json: Record<string, unknown> = {}, more: Ask = {}): Promise<TaskRecord> => {
    const body = { type: types[0]?.name, input: types[0] === echo ? { value: null } : null, ...json };
    const answer = await ask(submit, "/tasks", { json: body, ...more });
    if (answer.status !== 202) throw new Error(answer.text);
    const tenant_id = more.as?.tenant_id ?? "acme";
    return pipeline.recordOf({ tenant_id, task_id: String(answer.json.task_id) });
  };

  return { ...pipeline, submit, status, control, accepted };
}

/** What every problem of this status and code has. */
export const problem = (status: number, code: string) => ({
  status,
  json: { type: `urn:offload:error:${code}`, code, status },
});
