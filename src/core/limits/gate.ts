import { Problem } from "../model/problem.ts";
import { type Tier, tiers } from "../model/words.ts";
import type { Clock, Log } from "../ports/tasks.ts";
import { Backpressure, type BackpressurePorts } from "./backpressure.ts";
import { type AllLimits, type DepthBounds, type Limits, mergeLimits, minUploadBytes } from "./limits.ts";
import { hourOf, type LimitStore, type OpenCount, type StoredLimits, type Usage } from "./ports.ts";
import { Quota, type QuotaPorts } from "./quota.ts";
import { RateLimiter } from "./rate.ts";

/** A submit that asks to be admitted. */
export interface AdmissionRequest {
  tenantId: string;
  tier: Tier;
  /** Size of the request's body, in bytes. */
  bytes: number;
  /** True when the message goes into the tier now; false when the task first waits in EventBridge Scheduler. */
  soon: boolean;
}

/** An admitted submit. */
export interface Admission {
  /** True when the task counts among its tenant's tasks in progress. */
  counted: boolean;
  /** Undoes all counting, for a submit that created no task. */
  giveBack(): void;
  /** Undoes the counting of the task, and not that of the request: for a submit that joined another task. */
  giveBackTask(): void;
}

/** @throws Problem `rate_limited` */
export type CountRequest = (tenantId: string) => Promise<void>;

/** Admits or refuses a client's submit or upload, before anything is written. */
export interface Gate {
  /** @throws Problem `too_large`, `queue_full`, `rate_limited`, `quota_exceeded` */
  admit(request: AdmissionRequest): Promise<Admission>;
  /**
   * Counts an announced upload toward the tenant's rate of submits, and its bytes toward those of its open uploads.
   * @returns The bytes to subtract when a task takes it. 0: they were not counted.
   * @throws Problem `rate_limited`, `quota_exceeded`
   */
  admitUpload(tenantId: string, sizeBytes: number): Promise<number>;
  /** Subtracts an upload that a task has taken from those that are open. Never throws. */
  takeUpload(tenantId: string, upload: { announcedAtMs: number; countedBytes: number }): Promise<void>;
  /**
   * Counts a request that submits no task toward the tenant's rate of submits: a signal, a retry, a test of a receiver.
   * @throws Problem `rate_limited`
   */
  countRequest: CountRequest;
  /** The schedules that a tenant may have; null: as many as it likes. */
  schedulesOf(tenantId: string): Promise<number | null>;
}

/** The gate of submits and uploads. */
export type SubmitGate = Pick<Gate, "admit" | "admitUpload" | "takeUpload">;

/** The gate for tasks that nobody can be asked to submit later: a full tier takes them too. */
export const withoutDepth = (gate: SubmitGate): SubmitGate => ({
  ...gate,
  admit: (request) => gate.admit({ ...request, soon: false }),
});

export interface GatePorts extends LimitBookPorts, QuotaPorts, BackpressurePorts {
  records: QuotaPorts["records"] & BackpressurePorts["records"];
}

/**
 * Creates the gate of a deployment. Checks that cost nothing come first. When a later check refuses a submit, the
 * counting of the earlier checks is undone.
 * @param configured Limits from the settings, or their reading; limits that operators have stored override them.
 */
export function createGate(ports: GatePorts, configured: AllLimits | Promise<AllLimits>): Gate {
  const book = new LimitBook(ports, configured);
  const pressure = new Backpressure(ports);
  const rates = new RateLimiter(ports);
  const quota = new Quota(ports);
  const uploads = new UploadQuota(ports);

  const takeRate = async (tenantId: string, { submits_per_second: perSecond, burst }: Limits) => {
    if (perSecond == null) return () => {};
    await rates.take(tenantId, { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) });
    return () => rates.giveBack(tenantId);
  };
  const acquirePermit = async (tenantId: string, { tasks_in_progress: bound }: Limits) => {
    if (bound == null) return undefined;
    await quota.take(tenantId, bound);
    return () => quota.giveBack(tenantId);
  };
  const admitTier = async (tier: Tier, soon: boolean) => {
    const bound = soon ? await book.depthOf(tier) : undefined;
    if (bound === undefined) return () => {};
    await pressure.admit(tier, bound);
    return () => pressure.leave(tier);
  };

  return {
    admit: async ({ tenantId, tier, bytes, soon }) => {
      const limits = await book.ofTenant(tenantId);
      checkSize(bytes, limits);
      const undo: (() => void)[] = [];
      const ofTask: (() => void)[] = [];
      const giveBackTask = () => {
        for (const step of ofTask.splice(0)) step();
      };
      const giveBack = () => {
        for (const step of undo.splice(0)) step();
        giveBackTask();
      };
      try {
        ofTask.push(await admitTier(tier, soon));
        undo.push(await takeRate(tenantId, limits));
        const release = await acquirePermit(tenantId, limits);
        if (release !== undefined) ofTask.push(release);
        return { counted: release !== undefined, giveBack, giveBackTask };
      } catch (error) {
        giveBack();
        throw error;
      }
    },
    admitUpload: async (tenantId, sizeBytes) => {
      const limits = await book.ofTenant(tenantId);
      const giveBack = await takeRate(tenantId, limits);
      try {
        return await uploads.take(tenantId, sizeBytes, limits);
      } catch (error) {
        giveBack();
        throw error;
      }
    },
    takeUpload: (tenantId, upload) => uploads.release(tenantId, upload),
    countRequest: async (tenantId) => {
      await takeRate(tenantId, await book.ofTenant(tenantId));
    },
    schedulesOf: async (tenantId) => (await book.ofTenant(tenantId)).schedules ?? null,
  };
}

function checkSize(bytes: number, { request_bytes: bound }: Limits): void {
  if (bound == null || bytes <= bound) return;
  throw new Problem("too_large", `The request has ${bytes} bytes. This tenant's limit is ${bound} bytes.`);
}

/** Stored limits are read again after this time, in milliseconds: by then a change applies in every process. */
const readEveryMs = 10_000;

/** Maximum number of tenants whose own limits a process remembers. */
const maxTenants = 10_000;

interface LimitBookPorts {
  clock: Clock;
  log: Log;
  limits: LimitStore;
}

interface CachedRead<T> {
  value: Promise<T | undefined>;
  untilMs: number;
}

/**
 * The limits that apply now: limits that operators have stored override those of the settings. Reads the table every
 * ten seconds, and a tenant's own limits only if at least one tenant has some.
 */
export class LimitBook {
  readonly #ports: LimitBookPorts;
  readonly #configured: AllLimits | Promise<AllLimits>;
  #deployment: CachedRead<StoredLimits> | undefined;
  readonly #tenants = new Map<string, CachedRead<Limits>>();

  constructor(ports: LimitBookPorts, configured: AllLimits | Promise<AllLimits>) {
    this.#ports = ports;
    this.#configured = configured;
  }

  async ofTenant(tenantId: string): Promise<Limits> {
    const stored = await this.#stored();
    const own = stored?.overridden === true ? await this.#ownOf(tenantId) : undefined;
    const { tenants, default: others } = await this.#configured;
    const configured = Object.hasOwn(tenants, tenantId) ? tenants[tenantId] : undefined;
    return mergeLimits(own, configured, stored?.default, others);
  }

  async depthOf(tier: Tier): Promise<number | undefined> {
    const stored = await this.#stored();
    return mergeDepth(stored?.depth, (await this.#configured).depth)[tier] ?? undefined;
  }

  #stored(): Promise<StoredLimits | undefined> {
    this.#deployment = this.#fresh(this.#deployment, () => this.#ports.limits.ofDeployment());
    return this.#deployment.value;
  }

  #ownOf(tenantId: string): Promise<Limits | undefined> {
    if (this.#tenants.size >= maxTenants) this.#tenants.clear();
    const cached = this.#fresh(this.#tenants.get(tenantId), () => this.#ports.limits.ofTenant(tenantId));
    this.#tenants.set(tenantId, cached);
    return cached.value;
  }

  /** Returns the cached read, or starts a new one when it is old. When that fails, the old value stays in use. */
  #fresh<T>(earlier: CachedRead<T> | undefined, read: () => Promise<T | undefined>): CachedRead<T> {
    const now = this.#ports.clock.now();
    if (earlier !== undefined && now < earlier.untilMs) return earlier;
    const value = read().catch((error: unknown) => {
      this.#ports.log.warn("could not read the stored limits; the last known limits stay in use", {
        error: String(error),
      });
      return earlier?.value;
    });
    return { value, untilMs: now + readEveryMs };
  }
}

/** Merges depth bounds: for each tier, the first source that sets a bound wins. */
export function mergeDepth(...sources: readonly (DepthBounds | undefined)[]): DepthBounds {
  const of = (tier: Tier) => sources.find((source) => source?.[tier] !== undefined)?.[tier];
  return Object.fromEntries(tiers.map((tier) => [tier, of(tier)])) as DepthBounds;
}

/**
 * An upload that no task has taken ends 24 hours after its announcement, so it counts in the hour of that and in 24
 * more.
 */
const longestHours = 24;

/** `Retry-After` of a refused upload, in seconds. */
const retryAfterSeconds = 60;

interface UploadQuotaPorts {
  clock: Clock;
  log: Log;
  usage: Pick<Usage, "reserve" | "release" | "forget">;
}

/** No tenant's id has a `#`. */
const counterOf = (tenantId: string): string => `${tenantId}#uploads`;

/**
 * Limits the bytes of a tenant's open uploads, over all processes: one write an announced upload, and one when a task
 * takes it. An upload that nobody takes counts until its hour is forgotten.
 */
class UploadQuota {
  readonly #ports: UploadQuotaPorts;

  constructor(ports: UploadQuotaPorts) {
    this.#ports = ports;
  }

  /** @returns The bytes that were counted. @throws Problem `quota_exceeded` */
  async take(tenantId: string, sizeBytes: number, { open_upload_bytes: bound }: Limits): Promise<number> {
    if (bound == null) return 0;
    const bytes = Math.max(sizeBytes, minUploadBytes);
    if (await this.#reserve(tenantId, bytes, bound)) return bytes;
    throw new Problem(
      "quota_exceeded",
      `The tenant's uploads that no task has taken would have more than ${bound} bytes together, its limit.`,
      { retryAfterSeconds },
    );
  }

  async #reserve(tenantId: string, by: number, atMost: number): Promise<boolean> {
    const reserve = () =>
      this.#ports.usage.reserve(counterOf(tenantId), { by, atMost, nowMs: this.#ports.clock.now() });
    const first = await reserve();
    const forgot = await this.#forgetOld(tenantId, first.open);
    return first.done || (forgot && (await reserve()).done);
  }

  async #forgetOld(tenantId: string, { hours }: OpenCount): Promise<boolean> {
    const oldest = hourOf(this.#ports.clock.now()) - longestHours;
    const old = [...hours.keys()].filter((hour) => hour < oldest);
    for (const hour of old) await this.#ports.usage.forget(counterOf(tenantId), hour);
    return old.length > 0;
  }

  /**
   * Subtracts an upload that a task has taken. A failure is logged: the upload then counts until its hour is forgotten.
   */
  async release(tenantId: string, upload: { announcedAtMs: number; countedBytes: number }): Promise<void> {
    const { usage, log } = this.#ports;
    await usage
      .release(counterOf(tenantId), hourOf(upload.announcedAtMs), upload.countedBytes)
      .catch((error: unknown) => {
        log.warn("could not subtract an upload from those that are open", {
          tenant_id: tenantId,
          error: String(error),
        });
      });
  }
}
