import { JoinedReads } from "../../../util/joined-reads.ts";
import { within } from "../../../util/within.ts";
import { type PausableWork, pauseName, pausesOf } from "../../model/wait-queue.ts";
import {
  type FlowSetting,
  type FlowSettings,
  guardName,
  limitsName,
  receiversName,
  settingsAgeMs,
  type WaitingEntry,
} from "../../ports/flow.ts";
import type { Clock, Log } from "../../ports/tasks.ts";

/** A worker waits this long for settings, in milliseconds, while it knows earlier ones. */
const patienceMs = 1_000;

interface FlowBookPorts {
  clock: Clock;
  log: Log;
  flowSettings: FlowSettings;
}

/** The names of the guards of a type's resumes, for all tenants and for one. */
export const guardNames = (type: string, tenantId: string): string[] =>
  [pauseName({ scope: "type", type }), pauseName({ scope: "type", type, tenantId })].map(guardName);

/** Settings that are read together at most, unless there are more that are no breakers. */
const maxSettings = 500;

/** Breakers that are known by themselves at most, and the settings. */
const maxPages = 1_001;

interface Page<Content> {
  content: Promise<Content>;
  /** Epoch milliseconds after which it is read again. */
  untilMs: number;
}

interface KnownSettings {
  settings: ReadonlyMap<string, FlowSetting>;
  /** False: there are further breakers. */
  whole: boolean;
}

/**
 * The pauses, limits and breakers that apply now, as one process knows them. Reads the table every two seconds at most:
 * all settings together, or where tasks of many tenants fail, the breakers of the tasks at hand by themselves.
 */
export class FlowBook {
  readonly #ports: FlowBookPorts;
  /** The settings as this process read them last. Others do not set it. */
  latest: KnownSettings["settings"] = new Map();
  /** Breakers by their names, and the settings under no name. The first page is unused for longest. */
  readonly #pages = new Map<string, Page<unknown>>();
  readonly lines = new KnownWaitQueues();
  readonly going = new GoingTasks();
  /** The looks at lines that tasks have joined. The answer tells if a place is left. */
  readonly looks = new JoinedReads<{ hasRoom?: true }>();

  constructor(ports: FlowBookPorts) {
    this.#ports = ports;
  }

  /** True when a pause stops a task, or an operator has set limits for its type. */
  async limits(work: PausableWork): Promise<boolean> {
    const { settings } = await this.known();
    return settings.size > 0 && [...pausesOf(work), limitsName(work.type)].some((name) => settings.has(name));
  }

  /** A setting: a pause or limit, which are all known, or a breaker, by itself where not all are. */
  async one(name: string): Promise<FlowSetting | undefined> {
    const { settings, whole } = await this.known();
    return settings.get(name) ?? (whole ? undefined : this.page(name, () => this.#ports.flowSettings.find(name)));
  }

  /** All pauses and limits, and some breakers. */
  async settings(): Promise<KnownSettings["settings"]> {
    return (await this.known()).settings;
  }

  get nowMs(): number {
    return this.#ports.clock.now();
  }

  /**
   * True when the resume of a type is guarded, for a tenant or for all, as this process read the settings last: who
   * starts after a resume has read its guard.
   */
  isGuarded(type: string, tenantId: string): boolean {
    return this.latest.size > 0 && guardNames(type, tenantId).some((name) => this.latest.has(name));
  }

  /** True when a tenant has receivers of webhooks. */
  async receives(tenantId: string): Promise<boolean> {
    return (await this.known()).settings.has(receiversName(tenantId));
  }

  /** Reads the settings again with the next look. While the table does not answer, the earlier ones stay in use. */
  forget(): void {
    for (const page of this.#pages.values()) page.untilMs = 0;
  }

  /** All pauses and limits, and some breakers or all. */
  known(): Promise<KnownSettings> {
    return this.page("", () => this.#readSettings());
  }

  async #readSettings(): Promise<KnownSettings> {
    const { flowSettings } = this.#ports;
    const { settings, whole } = await flowSettings.some(maxSettings);
    this.latest = new Map(settings.map((setting) => [setting.name, setting]));
    return { settings: this.latest, whole };
  }

  /** Reads a page again with the next look. */
  expire(name: string): void {
    Object(this.#pages.get(name)).untilMs = 0;
  }

  /** Reads a page again when it is too old. The earlier content stays in use while the table does not answer. */
  async page<Content>(name: string, read: () => Promise<Content>): Promise<Content> {
    const now = this.#ports.clock.now();
    let page = this.#pages.get(name) as Page<Content> | undefined;
    if (page === undefined || now >= page.untilMs) {
      const content = page === undefined ? read() : this.#orEarlier(read(), page);
      page = { content, untilMs: now + settingsAgeMs };
    }
    this.#pages.delete(name);
    this.#pages.set(name, page);
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > maxPages && oldest !== undefined) this.#pages.delete(oldest);
    try {
      return await page.content;
    } catch (error) {
      // Nothing is known.
      if (this.#pages.get(name) === page) this.#pages.delete(name);
      throw error;
    }
  }

  async #orEarlier<Content>(read: Promise<Content>, { content }: Page<Content>): Promise<Content> {
    const { clock, log } = this.#ports;
    let error = "no answer in time";
    try {
      const found = await within<{ content: Content } | undefined>(
        clock,
        patienceMs,
        read.then((answer) => ({ content: answer })),
        () => undefined,
      );
      if (found !== undefined) return found.content;
    } catch (thrown) {
      error = String(thrown);
    }
    log.warn("could not read pauses and limits; those read last apply", { error });
    return content;
  }
}

/** A call that admits a task has done so within this time, in milliseconds, or has failed. */
const goingMs = 1_000;

interface Going {
  untilMs: number;
  /** True when another call would have admitted the task, and has passed it over. */
  isPassedOver: boolean;
}

/** The tasks that calls of one process let go at this moment, by the ids of their waits. */
class GoingTasks {
  readonly #going = new Map<string, Going>();

  has({ id }: WaitingEntry, nowMs: number): boolean {
    return (this.#going.get(id)?.untilMs ?? 0) > nowMs;
  }

  /** Keeps other calls of this process from letting a task go. Returns false when one has done so. */
  add(task: WaitingEntry, nowMs: number): boolean {
    const other = this.#going.get(task.id);
    if (other !== undefined && other.untilMs > nowMs) {
      other.isPassedOver = true;
      return false;
    }
    for (const [id, { untilMs }] of this.#going) {
      if (untilMs > nowMs) break;
      this.#going.delete(id);
    }
    this.#going.set(task.id, { untilMs: nowMs + goingMs, isPassedOver: false });
    return true;
  }

  /** The task was not let go. Returns true when another call of this process has passed it over meanwhile. */
  delete({ id }: WaitingEntry): boolean {
    const isPassedOver = this.#going.get(id)?.isPassedOver === true;
    this.#going.delete(id);
    return isPassedOver;
  }
}

/** Lines of which one thing is known at most. */
const maxLines = 1_000;

/** The lines as a process saw them in its earlier calls. Others may have changed them since. */
class KnownWaitQueues {
  readonly #spread = new Set<string>();
  readonly #sharded = new Set<string>();
  readonly #joined = new Set<string>();
  readonly #nextStarts = new Map<string, number>();

  /** True for a line whose places are spread over buckets. */
  isSpread(line: string): boolean {
    return this.#spread.has(line);
  }

  noteSpread(line: string): void {
    if (this.#spread.size >= maxLines) this.#spread.clear();
    this.#spread.add(line);
  }

  /** True for a line whose state had the mark of tasks in shards above 0. */
  isSharded(line: string): boolean {
    return this.#sharded.has(line);
  }

  noteSharded(line: string, isSharded: boolean): void {
    if (!isSharded) this.#sharded.delete(line);
    else if (this.#sharded.size < maxLines) this.#sharded.add(line);
  }

  /** True for a line that a task joined here, and of which no look has found it empty since. */
  isJoined(line: string): boolean {
    return this.#joined.has(line);
  }

  noteJoined(line: string, isJoined: boolean): void {
    if (!isJoined) this.#joined.delete(line);
    else if (this.#joined.size < maxLines) this.#joined.add(line);
  }

  /** Epoch milliseconds before which no start of a rate was free. Undefined: unknown. */
  nextTokenOf(line: string): number | undefined {
    return this.#nextStarts.get(line);
  }

  noteNextToken(line: string, startMs: number): void {
    if (this.#nextStarts.size >= maxLines && !this.#nextStarts.has(line)) this.#nextStarts.clear();
    this.#nextStarts.set(line, startMs);
  }
}
