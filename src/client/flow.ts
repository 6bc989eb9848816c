import type {
  KeyLimit,
  TenantPause,
  TierPause,
  TypeBreaker,
  TypeLimits,
  TypeList,
  TypePause,
} from "../api/acts/views.ts";
import type { Tier } from "../core/model/words.ts";
import type { CallOptions } from "./limits.ts";
import { type ClientOptions, path, Transport } from "./transport.ts";
import { toWire } from "./wire.ts";

/** Limits to set. A limit that is left out stays as it is; null is the limit of the definition again. */
export interface NewLimits {
  /** Attempts of one key at the same time, 1 to 10,000. */
  concurrency?: number | null | undefined;
  /** Starts of one key: `limit` in `perSeconds`, evenly spaced. */
  rate?: { limit: number; perSeconds: number } | null | undefined;
}

/** The limit to set for one key. */
export interface NewKeyLimit {
  /** Attempts at the same time, 1 to 10,000. With `perSeconds`, or where only the type's rate has a key: starts. */
  limit: number;
  /** The time of these starts. Default: that of the type's rate, if only that has a key. */
  perSeconds?: number | undefined;
  /** The time after which the type's limit applies again. Default: never. */
  expiresInSeconds?: number | undefined;
}

/** The option of a close: the key whose breaker is closed. Default: those of all keys. */
export interface BreakerCloseOptions extends CallOptions {
  key?: string | undefined;
}

/**
 * The option of a pause of a type: true for all tenants, which requires the role admin. Default: the caller's tenant.
 */
export interface TypePauseOptions extends CallOptions {
  all?: boolean | undefined;
}

/**
 * Calls that decide when tasks start. Pauses of types and of the own tenant require the role operator, all others the
 * role admin. A pause returns when no worker starts another of its tasks, after about three seconds.
 */
export class Flow {
  readonly #transport: Transport;

  /**
   * @throws TypeError when an option is missing or not valid
   * @example await new Flow({ url, key }).pauseType("mail.send");
   */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** Reads the limits, pauses and breakers of all task types. */
  types(options?: CallOptions): Promise<TypeList> {
    return this.#transport.get("/types", options);
  }

  /** Makes all tasks of a type wait that have not started. */
  pauseType(type: string, { all, ...options }: TypePauseOptions = {}): Promise<TypePause> {
    return this.#transport.post(path`/types/${type}/pause`, { all }, options);
  }

  /** Ends a pause of a type. That for all tenants and that of the tenant end separately. */
  resumeType(type: string, { all, ...options }: TypePauseOptions = {}): Promise<TypePause> {
    return this.#transport.post(path`/types/${type}/resume`, { all }, options);
  }

  /**
   * Closes the breaker of a type, or of one of its keys: the tasks that wait start, and it counts failures from 0.
   * @throws ProblemError `conflict` when the type is defined without a breaker, or without its key
   */
  closeBreaker(type: string, { key, ...options }: BreakerCloseOptions = {}): Promise<TypeBreaker> {
    return this.#transport.post(path`/types/${type}/breaker/close`, { key }, options);
  }

  /** Makes all tasks of a tier wait that have not started. */
  pauseQueue(tier: Tier, options?: CallOptions): Promise<TierPause> {
    return this.#transport.post(path`/queues/${tier}/pause`, {}, options);
  }

  resumeQueue(tier: Tier, options?: CallOptions): Promise<TierPause> {
    return this.#transport.post(path`/queues/${tier}/resume`, {}, options);
  }

  /** Makes all tasks of a tenant wait that have not started. */
  pauseTenant(tenantId: string, options?: CallOptions): Promise<TenantPause> {
    return this.#transport.post(path`/tenants/${tenantId}/pause`, {}, options);
  }

  resumeTenant(tenantId: string, options?: CallOptions): Promise<TenantPause> {
    return this.#transport.post(path`/tenants/${tenantId}/resume`, {}, options);
  }

  /**
   * Sets limits of a task type, for all tenants, also of a type that is defined without them. Null takes them away
   * again. Every worker knows them after about three seconds.
   * @example await new Flow({ url, key }).setLimits("mail.send", { concurrency: 5 });
   */
  setLimits(type: string, { concurrency, rate }: NewLimits, options?: CallOptions): Promise<TypeLimits> {
    const body = { concurrency, rate: rate && { limit: rate.limit, per_seconds: rate.perSeconds } };
    return this.#transport.call({ method: "PATCH", path: path`/types/${type}/limits`, body }, options);
  }

  /**
   * Sets another limit for one key of a type, for the caller's tenant. Every worker knows it after about three seconds.
   * @throws ProblemError `conflict` when the type's limit has no key, or too many keys have a limit of their own
   * @example await new Flow({ url, key }).setKeyLimit("crm.update", "account-7", { limit: 10, expiresInSeconds: 3600 });
   */
  setKeyLimit(type: string, key: string, limit: NewKeyLimit, options?: CallOptions): Promise<KeyLimit> {
    return this.#transport.post(path`/types/${type}/limits/${key}`, toWire(limit), options);
  }

  /** Removes the limits that one key of a type has of its own: the type's apply again. */
  clearKeyLimit(type: string, key: string, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: "DELETE", path: path`/types/${type}/limits/${key}` }, options);
  }
}
