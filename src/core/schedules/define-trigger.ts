import type * as z from "zod";
import { checkNow } from "../model/check-now.ts";
import { tenantPattern } from "../model/keys.ts";
import type { Tier } from "../model/words.ts";
import type { Catalog } from "../task/catalog.ts";
import { anything, type ChecksOf, calledAt, nameIn, optionsFault } from "../task/check-options.ts";
import { isSignalName } from "../task/step-calls.ts";
import { type DefinedTask, namePattern } from "../task/task.ts";
import { offloadSource, ownBus } from "./bus-event.ts";
import { type EventPath, type TemplateText, templateTexts } from "./event-path.ts";
import { type EventPattern, type PatternFields, patternFault } from "./pattern.ts";
import { type AppTrigger, type TriggeredTask, triggeredTaskSchema } from "./trigger.ts";

/** A task's input, each part of which may be a path of the event instead. */
export type InputFromEvent<Input> = unknown extends Input
  ? Input
  :
      | EventPath
      | (Input extends readonly (infer Element)[]
          ? readonly InputFromEvent<Element>[]
          : Input extends object
            ? { readonly [Name in keyof Input]: InputFromEvent<Input[Name]> }
            : Input);

/** A trigger: an event pattern, and the task that each matching event becomes. */
export interface TriggerOptions<Input> {
  /** The trigger's name: lower case words joined by dots, at most 48 characters. */
  name: string;
  /**
   * The event bus: `default` has the events of AWS's services; `own` is the bus to which this deployment sends its
   * events; else the name or ARN of a bus in the same account and Region. Default: `default`.
   */
  bus?: string;
  /** Events that become tasks, as an event pattern of EventBridge. */
  pattern: EventPattern;
  /**
   * Tenant of the tasks, or a path such as `$.detail.tenant_id`. With a path, the sender of the events chooses the
   * tenant.
   */
  tenantId: string;
  /** The type of the tasks. */
  type: DefinedTask<Input, unknown>;
  /**
   * Input of the tasks. A text that starts with `$.` is a path: the event's value replaces it and keeps its type. A
   * path in angle brackets within a text becomes part of the text: `s3://<$.detail.bucket.name>/<$.detail.object.key>`.
   */
  input: InputFromEvent<NoInfer<Input>>;
  /** Tier of the tasks. Default: the type's own. */
  priority?: Tier;
  /** Attempts for each task, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Tags of the tasks, at most 10. Their values may have paths, as the input. Default: none. */
  tags?: Record<string, string>;
  /** Delay of each task in seconds, 0 to 31536000. Default: 0. */
  delaySeconds?: number;
  /** A task without an attempt after this time expires, in seconds, 1 to 1209600. Default: it does not expire. */
  expiresInSeconds?: number;
  /** Retention of the tasks after their end in seconds, 172800 to 2592000. Default: 604800. */
  retentionSeconds?: number;
}

/** A function of the event. It can place its values, also within texts, and not look at them. */
// biome-ignore lint/suspicious/noExplicitAny: events have any form
type OfEvent<Value> = (event: any) => Value;

/** The task of a unique key. */
export interface KeyOfTask {
  /** The type of the task. */
  type: { readonly name: string } | string;
  /** The unique key, of those that the operators of the tenant share: `(event) => `order-${event.detail.id}``. */
  key: string | OfEvent<unknown>;
}

/** The options of a trigger that acts on a task that is there: exactly one of `cancel` and `signal`. */
export interface ActTriggerOptions extends Pick<TriggerOptions<unknown>, "name" | "bus" | "pattern" | "tenantId"> {
  /** Each matching event cancels the task of a key. */
  cancel?: KeyOfTask;
  /** Each matching event sends a signal to the task of a key. Default of `body`: null. */
  signal?: KeyOfTask & { name: string; body?: string | number | boolean | object | null | OfEvent<unknown> };
}

/** The values of options are checked one by one. */
const actOptions: ChecksOf<ActTriggerOptions> = {
  ...{ name: anything, bus: anything, pattern: anything, tenantId: anything, cancel: anything, signal: anything },
};

/** The values of options are checked one by one. */
const triggerOptions: ChecksOf<TriggerOptions<unknown>> = {
  ...{ name: anything, bus: anything, pattern: anything, tenantId: anything, type: anything, input: anything },
  ...{ priority: anything, maxAttempts: anything, tags: anything, delaySeconds: anything },
  ...{ expiresInSeconds: anything, retentionSeconds: anything },
};

const longestName = 48;

/** Names and ARNs of event buses. */
const busPattern = /^(?=.{1,1600}$)(arn:[\w-]+:events:[\w-]+:\d{12}:event-bus\/)?[\w./-]{1,256}$/;

/**
 * Defines a trigger. Throws a TypeError immediately when an option is not valid.
 * @example
 * defineTrigger({
 *   name: "upload.convert",
 *   pattern: { source: ["aws.s3"], "detail-type": ["Object Created"], detail: { bucket: { name: ["uploads"] } } },
 *   tenantId: "acme",
 *   type: convert,
 *   input: { bucket: "$.detail.bucket.name", key: "$.detail.object.key" },
 * });
 */
export function defineTrigger<Input>(options: TriggerOptions<Input>): AppTrigger & { task: TriggeredTask };
/**
 * Defines a trigger that cancels the task of a unique key, or sends it a signal.
 * @example
 * defineTrigger({
 *   name: "order.paid",
 *   pattern: { source: ["shop"], "detail-type": ["Paid"] },
 *   tenantId: "acme",
 *   signal: { type: "order.ship", key: (event) => `order-${event.detail.id}`, name: "paid" },
 * });
 */
export function defineTrigger(options: ActTriggerOptions): AppTrigger;
export function defineTrigger(options: TriggerOptions<unknown> | ActTriggerOptions): AppTrigger {
  const acts = options instanceof Object && ("cancel" in options || "signal" in options);
  const made = acts ? actTrigger(options as ActTriggerOptions) : taskTrigger(options as TriggerOptions<unknown>);
  if (typeof made !== "string") return made;
  throw new TypeError(`defineTrigger(${nameIn(options)}): ${made}${calledAt(defineTrigger)}`);
}

type Common = Pick<TriggerOptions<unknown>, "name" | "bus" | "pattern" | "tenantId">;

const commonOf = ({ name, bus = "default", pattern, tenantId }: Common) => ({
  name,
  bus,
  pattern,
  tenant_id: tenantId,
});

/** Returns the trigger, or its fault. */
const taskTrigger = (options: TriggerOptions<unknown>): AppTrigger | string =>
  optionsFault(options, triggerOptions) ??
  faultOf(options) ?? { ...commonOf(options), task: taskOf(options) as TriggeredTask };

/** Returns the trigger, or its fault. */
function actTrigger(options: ActTriggerOptions): AppTrigger | string {
  const { cancel, signal } = options;
  const of = cancel ?? signal;
  if (of === undefined || (cancel !== undefined && signal !== undefined)) return "expected one of cancel and signal";
  const type = typeof of.type === "string" ? of.type : of.type?.name;
  if (typeof type !== "string") return "type must be a task type, or its name";
  const fromEvent = (value: unknown) => (typeof value === "function" ? templateBy(value as () => unknown) : value);
  const key = fromEvent(of.key);
  if (typeof key !== "string" || key === "") return "key must be a text, or a function of the event that returns one";
  const act = { type, key, ...(signal && { signal: { name: signal.name, body: fromEvent(signal.body) ?? null } }) };
  const { tenantId } = options;
  return (
    optionsFault(options, actOptions) ??
    commonFault(options, templateTexts({ key, signal: act.signal, tenantId })) ??
    (signal === undefined || isSignalName(signal.name) ? undefined : "signal.name must be the name of a signal") ?? {
      ...commonOf(options),
      act,
    }
  );
}

/** The path that an object of `recordedEvent` stands for. */
const pathOf = Symbol("path of the event");

/** An event whose values are not there yet: each names its path. */
const recordedEvent = (path: string): object =>
  new Proxy(
    {},
    {
      get(_, name) {
        if (name === pathOf) return path;
        if (name === Symbol.toPrimitive) return () => `<${path}>`;
        if (typeof name === "symbol") return undefined;
        return recordedEvent(
          path + (/^\d+$/.test(name) ? `[${name}]` : /^[\w-]+$/.test(name) ? `.${name}` : `["${name}"]`),
        );
      },
    },
  );

/** Replaces each object of `recordedEvent` by its path. */
function asTemplate(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const path = (value as { [pathOf]?: string })[pathOf];
  if (path !== undefined) return path;
  if (Array.isArray(value)) return value.map(asTemplate);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asTemplate(one)]));
}

/**
 * The template that a function makes of an event. The function runs once, when the trigger is defined: it may place
 * values of the event, also within texts, and not look at them.
 */
const templateBy = (read: (event: never) => unknown): unknown => asTemplate(read(recordedEvent("$") as never));

/** The fault of the options that all triggers have. */
function commonFault({ name, bus = "default", pattern, tenantId }: Common, places: TemplateText[]): string | undefined {
  if (typeof name !== "string" || !namePattern.test(name) || name.length > longestName) {
    return `name must be lower case words joined by '.', '-' or '_', at most ${longestName} characters`;
  }
  if (typeof bus !== "string" || !busPattern.test(bus)) return "bus must be default, own, or the name or ARN of a bus";
  const wrong = patternFault(pattern);
  if (wrong !== undefined) return `pattern: ${wrong}`;
  const wrongPath = places.find((one) => one.wrongPath !== undefined);
  if (wrongPath !== undefined) {
    return (
      `${wrongPath.place.join(".")}: ${wrongPath.wrongPath} is not a path of an event; ` +
      'expected one such as $.detail.object.key, $.resources[0] or $.detail["a b"]'
    );
  }
  if (typeof tenantId !== "string" || !(tenantPattern.test(tenantId) || tenantId.startsWith("$."))) {
    return `tenantId must be a path such as $.detail.tenant_id, or match ${tenantPattern}`;
  }
  return undefined;
}

function faultOf<Input>(options: TriggerOptions<Input>): string | undefined {
  const { tenantId, type, input, tags } = options;
  const places = templateTexts({ input, tags, tenantId });
  const fault = commonFault(options, places);
  if (fault !== undefined) return fault;
  if (type?.input === undefined) return "type must be a task type, the default export of a file in tasks/";
  const task = triggeredTaskSchema.safeParse(taskOf(options));
  if (!task.success) return reasonOf(task.error.issues[0]);
  const issue = inputFault(type.input, input, places);
  return issue === undefined ? undefined : `input.${reasonOf(issue)}`;
}

/** The task of a trigger, not yet checked. */
const taskOf = <Input>(options: TriggerOptions<Input>): unknown =>
  Object.fromEntries(
    Object.entries({
      type: options.type.name,
      input: options.input,
      priority: options.priority,
      max_attempts: options.maxAttempts,
      tags: options.tags,
      delay_seconds: options.delaySeconds,
      expires_in_seconds: options.expiresInSeconds,
      retention_seconds: options.retentionSeconds,
    }).filter(([, value]) => value !== undefined),
  );

type Issue = z.core.$ZodIssue | undefined;

const reasonOf = (issue: Issue): string => `${issue?.path.join(".")}: ${issue?.message}`;

/** Codes of issues that name an object but are about its own members, and so do not depend on the values of paths. */
const ofMembers = ["unrecognized_keys", "invalid_type"];

/** Checks those parts of an input that do not depend on the event. Returns the first fault. */
function inputFault(schema: z.ZodType, input: unknown, places: readonly TemplateText[]): Issue {
  const parsed = checkNow(schema, input);
  const filled = places.filter(({ place }) => place[0] === "input").map(({ place }) => place.slice(1));
  return parsed.error?.issues.find(({ path, code }) => {
    const at = path.map(String);
    const within = filled.some((place) => isStart(place, at));
    const around = filled.some((place) => isStart(at, place)) && !ofMembers.includes(code);
    return !within && !around;
  });
}

const isStart = (start: readonly string[], path: readonly string[]): boolean =>
  start.every((step, index) => path[index] === step);

/**
 * Checks the app's triggers together, and returns them.
 * @param deployment Name of the deployment, which is part of its own events' source.
 * @throws TypeError for two triggers with the same name, for a task type that the deployment does not accept, and for a
 * trigger whose tasks would trigger it again
 */
export function appTriggers(
  triggers: readonly AppTrigger[],
  catalog: Catalog,
  deployment: string,
): readonly AppTrigger[] {
  const names = new Set<string>();
  for (const trigger of triggers) {
    const { name, task, act } = trigger;
    const type = task?.type ?? act?.type;
    if (names.has(name)) throw new TypeError(`two triggers are named ${name}: give each its own name`);
    names.add(name);
    if (!catalog.some((entry) => entry.name === type)) {
      throw new TypeError(
        `the trigger ${name} ${task === undefined ? "is for" : "submits"} ${type}, which is not a task type of this app: ` +
          `expected a file tasks/${type}.ts; add it, or remove the trigger from tasks/triggers.ts`,
      );
    }
    if (isLoop(trigger, offloadSource + deployment)) {
      throw new TypeError(
        `the trigger ${name} matches only ends of its own tasks, of the type ${type}: each task would submit the next one; ` +
          "match other types in detail.type, or other sources",
      );
    }
  }
  return triggers;
}

/** True when only events of the trigger's own tasks can match. Other loops are stopped while they run. */
function isLoop({ bus, pattern, task }: AppTrigger, ownSource: string): boolean {
  if (task === undefined) return false;
  const { source, detail } = pattern;
  const fromHere = source === undefined ? bus === ownBus : source.every((value) => value === ownSource);
  const types = (detail as PatternFields | undefined)?.type;
  return fromHere && Array.isArray(types) && types.every((type) => type === task.type);
}
