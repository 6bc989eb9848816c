import type { Notice, Notices } from "../core/ports/notify.ts";
import type { Clock } from "../core/ports/tasks.ts";
import { copy } from "./copy.ts";

/** A notice in the queue. `visibleAt`: epoch milliseconds. */
export interface QueuedNotice {
  notice: Notice;
  visibleAt: number;
}

/** The notify queue in memory. Nobody hears tasks until a test says so. */
export class MemoryNotices implements Notices {
  events = false;
  /** Tenants and principals with channels, as `tenant/principal`; `tenant/*` hears all tasks of the tenant. */
  readonly listeners = new Set<string>();
  /** Tenants with receivers of webhooks. */
  readonly receivers = new Set<string>();
  readonly queued: QueuedNotice[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async send(notices: readonly Notice[], delaySeconds = 0): Promise<void> {
    const visibleAt = this.#clock.now() + delaySeconds * 1000;
    // As texts, so that no later change of an object shows.
    this.queued.push(...notices.map((notice) => ({ notice: copy(notice), visibleAt })));
  }

  async receives(tenantId: string): Promise<boolean> {
    return this.receivers.has(tenantId);
  }

  async hears({ tenant_id, requested_by }: { tenant_id: string; requested_by: string }): Promise<boolean> {
    return this.listeners.has(`${tenant_id}/${requested_by}`) || this.listeners.has(`${tenant_id}/*`);
  }

  /** Takes the notices that are visible now. */
  take(): Notice[] {
    const now = this.#clock.now();
    const due = this.queued.filter(({ visibleAt }) => visibleAt <= now);
    this.queued.splice(0, this.queued.length, ...this.queued.filter(({ visibleAt }) => visibleAt > now));
    return due.map(({ notice }) => notice);
  }
}
