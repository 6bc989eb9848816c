import { breakerName, type PausableWork, pauseName, pausesOf } from "../model/line.ts";
import {
  type Breaker,
  type FlowSetting,
  type FlowSettings,
  guardName,
  limitsName,
  type ResumeGuard,
  receiversName,
  settingsAgeMs,
  type TypeLimits,
} from "../ports/flow.ts";
import type { Clock, Log } from "../ports/tasks.ts";
import { within } from "../ports/within.ts";

/** A worker waits this long for settings, in milliseconds, while it knows earlier ones. */
const patienceMs = 1_000;

interface FlowBookPorts {
  clock: Clock;
  log: Log;
  flowSettings: FlowSettings;
}

interface Page {
  settings: Promise<ReadonlyMap<string, FlowSetting>>;
  untilMs: number;
}

/**
 * The pauses, limits and breakers that apply now, as one process knows them. Reads the table every two seconds at most.
 */
export class FlowBook {
  readonly #ports: FlowBookPorts;
  /** Guards for which this process counted a failure since its last success. */
  readonly failed = new Set<string>();
  #page: Page | undefined;
  #latest: ReadonlyMap<string, FlowSetting> = new Map();

  constructor(ports: FlowBookPorts) {
    this.#ports = ports;
  }

  /** The name of the pause or of the open breaker that stops a task. */
  async stopOf(work: PausableWork): Promise<string | undefined> {
    const settings = await this.#settings();
    if (settings.size === 0) return undefined;
    const breaker = settings.get(breakerName(work.type, work.tenantId)) as Breaker | undefined;
    const names = breaker?.openUntilMs === undefined ? pausesOf(work) : [...pausesOf(work), breaker.name];
    return names.find((name) => settings.has(name));
  }

  /** The limits that an operator set for a type. */
  async limitsOf(type: string): Promise<TypeLimits | undefined> {
    return (await this.#settings()).get(limitsName(type)) as TypeLimits | undefined;
  }

  /** The breaker of a type for a tenant, if a task failed. */
  async breakerOf(type: string, tenantId: string): Promise<Breaker | undefined> {
    return (await this.#settings()).get(breakerName(type, tenantId)) as Breaker | undefined;
  }

  /**
   * The breakers that guard the resumes of a type, for a tenant and for all. Reads nothing where the last reading had
   * none: who starts after a resume has read its guard.
   */
  async guardsOf(type: string, tenantId: string): Promise<ResumeGuard[]> {
    const names = [pauseName({ scope: "type", type }), pauseName({ scope: "type", type, tenantId })].map(guardName);
    if (!names.some((name) => this.#latest.has(name))) return [];
    const settings = await this.#settings();
    const now = this.#ports.clock.now();
    const guards = names.map((name) => settings.get(name) as Breaker | undefined).filter((one) => one !== undefined);
    return guards.filter((one): one is ResumeGuard => (one.guardsUntilMs ?? 0) > now);
  }

  /** True when a tenant has receivers of webhooks. */
  async receives(tenantId: string): Promise<boolean> {
    return (await this.#settings()).has(receiversName(tenantId));
  }

  /** Reads the settings again with the next look. While the table does not answer, the earlier ones stay in use. */
  forget(): void {
    if (this.#page !== undefined) this.#page = { ...this.#page, untilMs: Number.NEGATIVE_INFINITY };
  }

  /** When the table cannot be read, the settings that were read last stay in use. */
  #settings(): Promise<ReadonlyMap<string, FlowSetting>> {
    const { clock, flowSettings } = this.#ports;
    const now = clock.now();
    const earlier = this.#page;
    if (earlier !== undefined && now < earlier.untilMs) return earlier.settings;
    const read = flowSettings.all().then((settings) => {
      this.#latest = new Map(settings.map((setting) => [setting.name, setting] as const));
      return this.#latest;
    });
    const settings = earlier === undefined ? read : this.#orEarlier(read, earlier);
    const page = { settings, untilMs: now + settingsAgeMs };
    this.#page = page;
    settings.catch(() => {
      if (this.#page === page) this.#page = undefined;
    });
    return settings;
  }

  async #orEarlier(read: Page["settings"], earlier: Page): Page["settings"] {
    const { clock, log } = this.#ports;
    let error = "no answer in time";
    try {
      const found = await within<Awaited<Page["settings"]> | undefined>(clock, patienceMs, read, () => undefined);
      if (found !== undefined) return found;
    } catch (thrown) {
      error = String(thrown);
    }
    log.warn("could not read pauses and limits; those read last stay in use", { error });
    return earlier.settings;
  }
}
