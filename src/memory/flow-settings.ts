import { breakersPrefix } from "../core/model/wait-queue.ts";
import type {
  Breaker,
  FlowSetting,
  FlowSettings,
  Pause,
  ReceiversMark,
  ResumeGuard,
  SomeSettings,
  TypeLimits,
} from "../core/ports/flow.ts";
import { copy } from "./copy.ts";

/** Settings of flow in memory. */
export class MemoryFlowSettings implements FlowSettings {
  readonly #settings = new Map<string, FlowSetting>();

  async all(): Promise<FlowSetting[]> {
    return copy([...this.#settings.values()]);
  }

  async some(max: number): Promise<SomeSettings> {
    const sorted = (await this.all()).sort((a, b) => (a.name > b.name ? -1 : 1));
    const others = sorted.filter(({ name }) => !name.startsWith(breakersPrefix)).length;
    const settings = sorted.slice(0, Math.max(max, others));
    return { settings, whole: settings.length === sorted.length };
  }

  async named(prefix: string, max: number): Promise<FlowSetting[]> {
    const named = (await this.all()).filter(({ name }) => name.startsWith(prefix));
    return named.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, max);
  }

  async find(name: string): Promise<FlowSetting | undefined> {
    return copy(this.#settings.get(name));
  }

  async put(setting: Pause | TypeLimits | ReceiversMark | ResumeGuard): Promise<void> {
    this.#settings.set(setting.name, copy(setting));
  }

  async remove(name: string): Promise<void> {
    this.#settings.delete(name);
  }

  async countFailure(name: string, max: number, openUntilMs: number, nowMs: number): Promise<Breaker> {
    const earlier = this.#settings.get(name) as Breaker | undefined;
    const failures = (earlier?.failures ?? 0) + 1;
    const breaker: Breaker = { ...earlier, kind: "breaker", name, failures };
    if (failures >= max) Object.assign(breaker, { openUntilMs, openedMs: breaker.openedMs ?? nowMs });
    this.#settings.set(name, breaker);
    return { ...breaker };
  }

  async countForGuard(name: string, untilMs: number): Promise<number> {
    const failures = ((this.#settings.get(name) as Breaker | undefined)?.failures ?? 0) + 1;
    this.#settings.set(name, { kind: "breaker", name, failures, guardsUntilMs: untilMs });
    return failures;
  }

  async tryBreaker(name: string, seenMs: number, untilMs: number): Promise<boolean> {
    const breaker = this.#settings.get(name) as Breaker | undefined;
    if (breaker?.openUntilMs !== seenMs) return false;
    this.#settings.set(name, { ...breaker, openUntilMs: untilMs });
    return true;
  }
}
