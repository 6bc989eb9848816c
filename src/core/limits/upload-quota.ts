import { Problem } from "../model/problem.ts";
import type { Clock, Log } from "../ports/tasks.ts";
import { type Limits, leastUploadBytes } from "./limits.ts";
import type { OpenCount, Usage } from "./ports.ts";
import { hourOf } from "./ports.ts";

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
export class UploadQuota {
  readonly #ports: UploadQuotaPorts;

  constructor(ports: UploadQuotaPorts) {
    this.#ports = ports;
  }

  /** @returns The bytes that were counted. @throws Problem `quota_exceeded` */
  async take(tenantId: string, sizeBytes: number, { open_upload_bytes: bound }: Limits): Promise<number> {
    if (bound == null) return 0;
    const bytes = Math.max(sizeBytes, leastUploadBytes);
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
