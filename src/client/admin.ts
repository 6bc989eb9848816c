import type { Caller, KeyInfo, Metrics, TenantInfo, TenantLimits } from "../api/acts/views.ts";
import type { AlarmView } from "../core/control/metric-history.ts";
import type { Role } from "../core/model/words.ts";
import type { Deployment } from "../core/schedules/ports.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { type ClientOptions, path, Transport } from "./transport.ts";
import { type Time, toWire } from "./wire.ts";

/**
 * A limit to set: null is no limit, `unset` the deployment's default again. A limit that is left out stays as it is.
 */
export type NewLimit = number | null | "unset" | undefined;

/** Limits of a tenant to set. */
export interface NewTenantLimits {
  submitsPerSecond?: NewLimit;
  burst?: NewLimit;
  tasksInProgress?: NewLimit;
  requestBytes?: NewLimit;
  schedules?: NewLimit;
}

/**
 * Calls for admins: keys and limits of tenants, measurements, alarms. `identity` is for any role, `deployments` for
 * viewers and operators, too. The option `tenant` names the tenant of keys.
 */
export class Admin {
  readonly #transport: Transport;

  /**
   * @throws TypeError when an option is missing or not valid
   * @example const { key } = await new Admin({ url, key, tenant: "acme" }).createKey({ role: "operator" });
   */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** Reads who the caller is. */
  identity(options?: CallOptions): Promise<Caller> {
    return this.#transport.get("/identity", options);
  }

  /** Reads the keys of the tenant, oldest first. */
  async keys(options?: CallOptions): Promise<KeyInfo[]> {
    return (await this.#transport.get<{ keys: KeyInfo[] }>("/keys", options)).keys;
  }

  /**
   * Creates a key. Only this answer has it, as `key`.
   * @param key `inputs`: the key of a viewer may read inputs and logs
   */
  createKey(
    key: { role: Role; inputs?: boolean | undefined; label?: string | undefined; expiresAt?: Time | undefined },
    options?: CallOptions,
  ): Promise<KeyInfo & { key: string }> {
    return this.#transport.postOnce("/keys", toWire(key), options);
  }

  /**
   * Revokes a key, which stops working within 60 s.
   * @throws ProblemError `conflict` for the key of this client
   */
  revokeKey(keyId: string, options?: CallOptions): Promise<KeyInfo> {
    return this.#transport.call({ method: "DELETE", path: path`/keys/${keyId}` }, options);
  }

  /** Lists the tenants that have a key or have submitted a task. */
  tenants(options?: CallOptions): List<TenantInfo> {
    return new List(this.#transport, "/tenants", "tenants", {}, options);
  }

  limits(tenantId: string, options?: CallOptions): Promise<TenantLimits> {
    return this.#transport.get(path`/tenants/${tenantId}/limits`, options);
  }

  /** Sets limits of a tenant. They apply within ten seconds. */
  setLimits(tenantId: string, limits: NewTenantLimits, options?: CallOptions): Promise<TenantLimits> {
    const body = toWire(limits);
    return this.#transport.call({ method: "PATCH", path: path`/tenants/${tenantId}/limits`, body }, options);
  }

  /** Reads what the deployment measured in the last hours, 1 to 24. Default: 3. */
  metrics({ hours, ...options }: CallOptions & { hours?: number | undefined } = {}): Promise<Metrics> {
    return this.#transport.get("/metrics", options, { hours });
  }

  /** Reads the newest deployments of the last 90 days, newest first, at most 50. */
  async deployments(options?: CallOptions): Promise<Deployment[]> {
    return (await this.#transport.get<{ deployments: Deployment[] }>("/deployments", options)).deployments;
  }

  /** Reads the deployment's alarms. The local server has none. */
  async alarms(options?: CallOptions): Promise<AlarmView[]> {
    return (await this.#transport.get<{ alarms: AlarmView[] }>("/alarms", options)).alarms;
  }
}
