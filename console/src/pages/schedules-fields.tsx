import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import type { InputError } from "../../../src/core/model/problem.ts";
import { parsed } from "../json-text.ts";
import type { Rule } from "../rule-words.ts";
import { instantOf, localText, readerZone } from "../zones.ts";

/** The fields of the form, as they are entered. */
export class ScheduleFields {
  readonly name: Signal<string>;
  readonly kind: Signal<string>;
  readonly cron: Signal<string>;
  readonly minutes: Signal<string>;
  readonly zone: Signal<string>;
  readonly starts: Signal<string>;
  readonly ends: Signal<string>;
  readonly overlap: Signal<string>;
  readonly type: Signal<string>;
  readonly input: Signal<string>;
  readonly priority: Signal<string>;
  readonly tags: Signal<string>;
  /** Faults that the page finds before it asks the API. */
  readonly faults: ReadonlySignal<readonly InputError[]>;
  readonly #before: ScheduleView | undefined;

  /** @param before The schedule to change. Undefined: a new one. */
  constructor(before: ScheduleView | undefined) {
    const zone = before?.timezone ?? readerZone();
    const timeText = (iso: string | null | undefined) => signal(iso ? localText(iso, zone) : "");
    this.#before = before;
    this.name = signal(before?.name ?? "");
    this.kind = signal(typeof before?.every_seconds === "number" ? "every" : "cron");
    this.cron = signal(before?.cron ?? (before === undefined ? "0 9 * * MON-FRI" : ""));
    this.minutes = signal(String((before?.every_seconds ?? 3600) / 60));
    this.zone = signal(zone);
    this.starts = timeText(before?.starts_at);
    this.ends = timeText(before?.ends_at);
    this.overlap = signal(before?.overlap ?? "allow");
    this.type = signal(before?.task.type ?? "");
    this.input = signal(before === undefined ? "{}" : JSON.stringify(before.task.input, null, 2));
    this.priority = signal(before?.task.priority ?? "");
    this.tags = signal(
      Object.entries(before?.task.tags ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join("\n"),
    );
    this.faults = computed(() => this.#findFaults());
  }

  /** The rule as the API takes it. */
  get rule(): Rule {
    const kind =
      this.kind.value === "cron"
        ? { cron: this.cron.value.trim(), every_seconds: null }
        : { cron: null, every_seconds: Math.round(Number(this.minutes.value) * 60) };
    return { ...kind, timezone: this.zone.value, starts_at: this.#time("starts"), ends_at: this.#time("ends") };
  }

  /** The rule for a preview: that of a schedule which is changed counts from its creation. */
  get previewed(): Rule {
    return { ...this.rule, created_at: this.#before?.created_at ?? undefined };
  }

  /** A time of the form in the schedule's zone. A time that was not changed keeps its seconds. */
  #time(name: "starts" | "ends"): string | null {
    const text = this[name].value;
    const before = this.#before?.[`${name}_at`] ?? null;
    const zone = this.zone.value;
    if (before !== null && zone === this.#before?.timezone && text === localText(before, zone)) return before;
    const instant = instantOf(text, zone);
    return instant === undefined ? null : new Date(instant).toISOString();
  }

  /** The body of a create, or the task and the rule of a change. Call it without faults only. */
  get body() {
    const { priority: _, tags: __, ...kept } = this.#before?.task ?? {};
    const tags = this.#tags;
    const task = {
      ...kept,
      type: this.type.value,
      input: parsed(this.input.value),
      ...(this.priority.value !== "" && { priority: this.priority.value }),
      ...(Object.keys(tags).length > 0 && { tags }),
    };
    return { ...this.rule, overlap: this.overlap.value, task };
  }

  get #tags(): Record<string, string> {
    const lines = this.tags.value.split("\n").filter((line) => line.trim() !== "");
    return Object.fromEntries(lines.map((line) => line.trim().split(/=(.*)/s).slice(0, 2)));
  }

  #findFaults(): InputError[] {
    const faults: InputError[] = [];
    for (const name of ["starts", "ends"] as const) {
      const text = this[name].value;
      if (text !== "" && instantOf(text, this.zone.value) === undefined)
        faults.push({ path: `/${name}_at`, message: `the clocks of ${this.zone.value} skip this time` });
    }
    try {
      parsed(this.input.value);
    } catch (error) {
      faults.push({ path: "/task/input", message: (error as Error).message });
    }
    const bad = this.tags.value.split("\n").find((line) => line.trim() !== "" && !line.includes("="));
    if (bad !== undefined) faults.push({ path: "/task/tags", message: `expected name=value, got ${bad.trim()}` });
    return faults;
  }
}

/** Properties that join a control with its label and its faults. */
interface Control {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

/** A field with its faults. */
export function Field({
  label,
  path,
  faults,
  hint,
  children,
}: {
  label: string;
  /** JSON pointer of the field in the request. Faults of its members are its own, too. */
  path: string;
  faults: readonly InputError[];
  hint?: ComponentChildren;
  children: (control: Control) => ComponentChildren;
}) {
  const id = useId();
  const own = faultsAt(path, faults);
  const described = [hint !== undefined && `${id}-hint`, own.length > 0 && `${id}-faults`].filter(Boolean).join(" ");
  return (
    <div class={own.length === 0 ? "field" : "field faulty"}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described !== "" && { "aria-describedby": described }),
        ...(own.length > 0 && { "aria-invalid": true }),
      })}
      {hint !== undefined && (
        <small id={`${id}-hint`} class="muted">
          {hint}
        </small>
      )}
      {own.length > 0 && (
        <ul id={`${id}-faults`} class="field-faults">
          {own.slice(0, 5).map((fault) => (
            <li key={`${fault.path}${fault.message}`}>
              {fault.path !== path && <code>{fault.path.slice(path.length)}</code>} {fault.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const faultsAt = (path: string, faults: readonly InputError[]): InputError[] =>
  faults.filter((fault) => fault.path === path || fault.path.startsWith(`${path}/`));

/** The paths at which the form shows faults. */
const shownPaths = [
  ...["/name", "/cron", "/every_seconds", "/timezone", "/starts_at", "/ends_at", "/overlap"],
  ...["/task/type", "/task/input", "/task/priority", "/task/tags"],
];

/** True when the form shows the fault at a field. */
export const isShown = (fault: InputError): boolean => shownPaths.some((path) => faultsAt(path, [fault]).length > 0);
