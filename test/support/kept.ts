import type { MetricName, MetricOf } from "../../src/core/model/metrics.ts";
import type { Log, Metrics, Watchdog } from "../../src/core/ports/tasks.ts";

/** A log that keeps its lines. */
export class KeptLog implements Log {
  readonly lines: { level: string; message: string; fields: Record<string, unknown> }[];
  readonly #fields: Record<string, unknown>;

  constructor(fields: Record<string, unknown> = {}, lines: KeptLog["lines"] = []) {
    this.#fields = fields;
    this.lines = lines;
  }

  debug = (message: string, fields?: Record<string, unknown>) => this.#keep("debug", message, fields);
  info = (message: string, fields?: Record<string, unknown>) => this.#keep("info", message, fields);
  warn = (message: string, fields?: Record<string, unknown>) => this.#keep("warn", message, fields);
  error = (message: string, fields?: Record<string, unknown>) => this.#keep("error", message, fields);
  with = (fields: Record<string, unknown>) => new KeptLog({ ...this.#fields, ...fields }, this.lines);

  #keep(level: string, message: string, fields: Record<string, unknown> = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}

/** Metrics that keep what was added. */
export class KeptMetrics implements Metrics {
  readonly added: { name: MetricName; value: number; of: MetricOf }[] = [];

  add(name: MetricName, value: number, of: MetricOf): void {
    this.added.push({ name, value, of });
  }

  /** The sum of what was added under a name. */
  sum(name: MetricName): number {
    return this.added.filter((one) => one.name === name).reduce((total, { value }) => total + value, 0);
  }
}

/** A watchdog that only remembers: the times it is armed for now, and all it ever was. */
export class KeptWatchdog implements Watchdog {
  readonly armed = new Set<{ untilMs: number }>();
  readonly ever: number[] = [];

  guard(untilMs: number): () => void {
    const guard = { untilMs };
    this.armed.add(guard);
    this.ever.push(untilMs);
    return () => this.armed.delete(guard);
  }
}
