import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as zodThree } from "zod/v3";
import { defineSchedule } from "../../../src/core/schedules/app-schedule.ts";
import { defineTrigger } from "../../../src/core/schedules/define-trigger.ts";
import { defineEnvironment } from "../../../src/core/task/environment.ts";
import { defineTask } from "../../../src/core/task/task.ts";

const task = { name: "mail.send", input: z.object({ to: z.string() }), handler: () => 1 };
const type = defineTask(task);
const schedule = { name: "nightly", cron: "0 2 * * *", type, input: { to: "a" }, tenantId: "acme" };
const trigger = { name: "on-order", pattern: { source: ["shop"] }, tenantId: "acme", type, input: { to: "a" } };

/** Options from JavaScript, or from a spread that TypeScript does not look into. */
type Wrong = Record<string, unknown>;

const define = {
  defineTask: (wrong: Wrong) => defineTask({ ...task, ...wrong } as never),
  defineSchedule: (wrong: Wrong) => defineSchedule({ ...schedule, ...wrong } as never),
  defineTrigger: (wrong: Wrong) => defineTrigger({ ...trigger, ...wrong } as never),
  defineEnvironment: (wrong: Wrong) => defineEnvironment(wrong as never),
};

const rateOf = (perSeconds: number) => ({ limit: 3, perSeconds });

/** Options that are wrong, and what the message says about each. */
const wrong: Record<keyof typeof define, [Wrong, string][]> = {
  defineTask: [
    [{ timeout: 30 }, "timeout is not an option; did you mean timeoutSeconds?"],
    [{ retries: 3 }, "retries is not an option; did you mean maxAttempts or retry?"],
    [{ maxAttempt: 3 }, "maxAttempt is not an option; did you mean maxAttempts?"],
    [{ timeout_seconds: 3 }, "timeout_seconds is not an option; did you mean timeoutSeconds?"],
    [{ banana: 3 }, "banana is not an option"],
    [{ input: undefined }, "the call needs input"],
    [{ handler: undefined }, "the call needs handler"],
    [{ handler: "send" }, 'handler must be a function, got "send"'],
    [{ handler: Promise.resolve() }, "handler must be a function, got a promise"],
    [{ input: zodThree.string() }, "input must be a schema of zod 4, and ZodString is one of zod 3: install zod@4"],
    [{ output: zodThree.string() }, "output must be a schema of zod 4"],
    [{ state: { type: "object" } }, "state must be a schema of zod, such as z.object({ ... }), got an object"],
    [{ description: 7 }, "description must be a text, got 7"],
    [{ priority: 1 }, "priority must be one of critical, high, normal, low, got 1"],
    [{ runsOn: "lambda" }, 'runsOn must be one of function, container, got "lambda"'],
    [{ timeoutSeconds: "60" }, 'timeoutSeconds must be a whole number from 1 to 840, got "60"'],
    [{ timeoutSeconds: 900 }, "timeoutSeconds must be a whole number from 1 to 840, got 900"],
    [{ runsOn: "container", timeoutSeconds: 43_201 }, "timeoutSeconds must be a whole number from 1 to 43200"],
    [{ maxAttempts: Number.NaN }, "maxAttempts must be a whole number from 1 to 20, got NaN"],
    [{ cancellable: "no" }, 'cancellable must be true or false, got "no"'],
    [{ sensitive: 1 }, "sensitive must be true or false, got 1"],
    [{ keepInput: "yes" }, 'keepInput must be true or false, got "yes"'],
    [{ push: "progress" }, 'push must be one of result, got "progress"'],
    [{ retry: 3 }, "retry must be an object of options, got 3"],
    [{ retry: { baseSeconds: Number.NaN } }, "retry.baseSeconds must be a number from 0 to 31536000, got NaN"],
    [{ retry: { waitsSeconds: [-5] } }, "retry.waitsSeconds must be a list, and each in it a number from 0 to"],
    [{ retry: { waitsSeconds: [] } }, "retry.waitsSeconds must be a list with at least one wait, got a list"],
    [{ retry: { kinds: { transient: { waitsSeconds: [] } } } }, "waitsSeconds must be a list with at least one wait"],
    [{ retry: { waitsSeconds: 5 } }, "retry.waitsSeconds must be a list, got 5"],
    [{ retry: { jitter: "some" } }, 'retry.jitter must be one of additive, full, none, got "some"'],
    [{ retry: { maxAttempts: 3 } }, "retry.maxAttempts is not an option"],
    [
      { retry: { kinds: { transient: "never" } } },
      'retry.kinds.transient must be one of stop, or an object of options, got "never"',
    ],
    [{ retry: { kinds: { temporary: "stop" } } }, "retry.kinds.temporary is not an option"],
    [{ retry: { kinds: { conflict: { factor: 0 } } } }, "retry.kinds.conflict.factor must be a number from 1 to"],
    [{ classify: () => "permanent" }, "classify must be a list, got a function"],
    [{ classify: ["permanent"] }, "classify must be a list, and each in it a function that is not async"],
    [{ classify: [async () => "permanent"] }, "classify must be a list, and each in it a function that is not async"],
    [{ concurrency: 3 }, "concurrency must be an object of options, got 3"],
    [{ concurrency: { max: 3 } }, "concurrency.max is not an option; did you mean concurrency.limit?"],
    [{ concurrency: { key: () => "a" } }, "concurrency needs limit"],
    [{ concurrency: { limit: undefined } }, "concurrency needs limit"],
    [{ concurrency: { limit: () => 3 } }, "concurrency.limit by input needs key"],
    [
      { concurrency: { key: () => "a", limit: async () => 3 } },
      "concurrency.limit must be a function that is not async",
    ],
    [
      { concurrency: { key: () => "a", limit: () => 1, order: "strict" } },
      'concurrency.order "strict" needs key, limit: 1',
    ],
    [{ concurrency: { key: () => "a", limit: "3" } }, "concurrency.limit must be a whole number from 1 to 10000"],
    [{ concurrency: { limit: 0 } }, "concurrency.limit must be a whole number from 1 to 10000, got 0"],
    [
      { concurrency: { limit: 1, key: "account" } },
      'concurrency.key must be a function that is not async, got "account"',
    ],
    [{ concurrency: { limit: 1, key: async () => "a" } }, "concurrency.key must be a function that is not async"],
    [{ concurrency: { limit: 1, order: "fifo" } }, 'concurrency.order must be one of strict, got "fifo"'],
    [
      { concurrency: { limit: 1, order: "strict" } },
      'concurrency.order "strict" needs key, limit: 1 and the scope tenant',
    ],
    [
      { concurrency: { key: () => "a", limit: 2, order: "strict" } },
      'concurrency.order "strict" needs key, limit: 1 and the scope tenant',
    ],
    [{ concurrency: { key: () => "a", order: "strict" } }, "concurrency"],
    [
      { concurrency: { key: () => "a", limit: 1, order: "strict", scope: "deployment" } },
      'concurrency.order "strict" needs key, limit: 1 and the scope tenant',
    ],
    [{ concurrency: { limit: 1, onDeadLetter: "hold" } }, 'concurrency.onDeadLetter needs order: "strict"'],
    [
      { concurrency: { key: () => "a", limit: 1, order: "strict", onDeadLetter: "stop" } },
      'concurrency.onDeadLetter must be one of continue, hold, got "stop"',
    ],
    [{ rateLimit: { limit: 3, per: 60 } }, "rateLimit.per is not an option; did you mean rateLimit.perSeconds?"],
    [{ rateLimit: { limit: 3 } }, "rateLimit needs perSeconds"],
    [{ rateLimit: [] }, "rateLimit must have 1 to 4 rates, got 0"],
    [{ rateLimit: [1, 2, 3, 4, 5].map(rateOf) }, "rateLimit must have 1 to 4 rates, got 5"],
    [{ rateLimit: [7] }, "rateLimit[0] must be an object of options, got 7"],
    [{ rateLimit: [rateOf(1), { limit: 3 }] }, "rateLimit[1] needs perSeconds"],
    [{ rateLimit: [rateOf(1), { limit: 0, perSeconds: 60 }] }, "rateLimit[1].limit must be a whole number from 1 to"],
    [{ rateLimit: [rateOf(1), rateOf(86_401)] }, "rateLimit[1].perSeconds must be a whole number from 1 to 86400"],
    [{ rateLimit: [rateOf(60), rateOf(60)] }, "rateLimit must have one rate for each perSeconds"],
    [{ rateLimit: [{ ...rateOf(1), key: () => "a" }, rateOf(60)] }, "rateLimit must have a key in each of its rates"],
    [{ rateLimit: [{ ...rateOf(1), scope: "deployment" }, rateOf(60)] }, "rateLimit must have the same scope in each"],
    [{ rateLimit: { ...rateOf(1), longer: [] } }, "rateLimit.longer is not an option"],
    [{ breaker: { failures: 3, cooldownSeconds: 3 } }, "breaker.cooldownSeconds is not an option"],
    [
      { breaker: { key: "shop", failures: 3, coolDownSeconds: 3 } },
      'breaker.key must be a function that is not async, got "shop"',
    ],
    [{ upcast: [], version: "2" }, 'version must be a whole number from 1 to 1000, got "2"'],
    [{ upcast: 7 }, "upcast must be an object of functions, by version, got 7"],
    [{ files: { photo: { type: "image/*" } } }, "files.photo.type is not an option"],
    [{ files: { photo: { required: "no" } } }, 'files.photo.required must be true or false, got "no"'],
    [{ files: { photo: { contentTypes: "image/*" } } }, "files.photo.contentTypes must be a list"],
    [{ children: { treshold: 1 } }, "children.treshold is not an option; did you mean children.threshold?"],
    [{ children: true }, "children must be an object of options, got true"],
    [{ children: {}, aggregate: 1 }, "aggregate must be a function, got 1"],
  ],
  defineSchedule: [
    [{ overlap: "queue" }, "overlap must be one of"],
    [{ timeZone: "Europe/Berlin" }, "timeZone is not an option; did you mean timezone?"],
    [{ tz: "Europe/Berlin" }, "tz is not an option; did you mean timezone?"],
    [{ startsAt: "2027-01-01" }, "startsAt: expected an ISO 8601 time with its zone"],
    [{ enabled: false }, "enabled is not an option"],
    [{ every: 60 }, "every is not an option; did you mean everySeconds?"],
    [{ type: undefined }, "the call needs type"],
    [{ type: "mail.send" }, "type must be a task type, the default export of a file in tasks/"],
    [{ timezone: 7 }, "timezone must be a text, got 7"],
    [{ timezone: "Mars/Base" }, "timezone"],
    [{ tenantId: undefined, forEachTenant: false }, "forEachTenant must be one of true, got false"],
    [{ input: { to: 7 } }, "input.to"],
  ],
  defineTrigger: [
    [{ tenant: "acme" }, "tenant is not an option; did you mean tenantId?"],
    [{ delay: 5 }, "delay is not an option; did you mean delaySeconds?"],
    [{ detail: {} }, "detail is not an option"],
    [{ type: undefined }, "type must be a task type"],
    [{ type: "mail.send" }, "type must be a task type"],
    [{ name: undefined }, "name must be"],
  ],
  defineEnvironment: [
    [{ variable: {} }, "variable is not an option; did you mean variables?"],
    [{ variables: { API: { value: "a" } } }, "the variable.value is not an option"],
    [{ variables: { API: 7 } }, "variables must be a text"],
    [{ secrets: { KEY: { secret: "a" } } }, "the secret.secret is not an option"],
    [{ secrets: [] }, "secrets must be an object, got a list"],
  ],
};

describe.each(Object.entries(wrong))("%s", (name, cases) => {
  const call = define[name as keyof typeof define];

  test.each(cases)("refuses %o", (options, message) => {
    expect(() => call(options)).toThrow(TypeError);
    expect(() => call(options)).toThrow(message);
    expect(() => call(options)).toThrow(/^define\w+(\("[\w.-]+"\)|\(\))?: /);
  });

  test("names the file and the line of the call", () => {
    expect(() => call({ banana: 1 })).toThrow(/ \(task\/options\.test\.ts:\d+\)$/);
  });

  test.each([undefined, null, 7, "mail.send", [], () => ({})])("refuses %o in place of its options", (given) => {
    const whole = { defineTask, defineSchedule, defineTrigger, defineEnvironment }[name as keyof typeof define];
    expect(() => (whole as (options: unknown) => unknown)(given)).toThrow("the argument must be an object of options");
  });
});

describe("a list of rates", () => {
  const key = ({ to }: { to: string }) => to;
  const of = (perSeconds: number) => ({ key, ...rateOf(perSeconds) });

  test("is sorted by the times of its rates", () => {
    const { rateLimit } = defineTask({ ...task, rateLimit: [rateOf(60), rateOf(86_400), rateOf(1)] });
    expect(rateLimit).toEqual({ ...rateOf(1), longer: [rateOf(60), rateOf(86_400)] });
    const inline = defineTask({ ...task, rateLimit: [{ key: ({ to }) => to, limit: 3, perSeconds: 1 }, of(60)] });
    expect(inline.rateLimit?.longer).toEqual([of(60)]);
    expect(defineTask({ ...task, rateLimit: [of(60)] }).rateLimit).toEqual(of(60));
  });

  test("the compiler refuses an empty one, more than four, and keys in some of them only", () => {
    // @ts-expect-error an empty list
    expect(() => defineTask({ ...task, rateLimit: [] })).toThrow(TypeError);
    // @ts-expect-error five rates
    expect(() => defineTask({ ...task, rateLimit: [of(1), of(2), of(3), of(4), of(5)] })).toThrow(TypeError);
    // @ts-expect-error a rate without the key of the other one
    expect(() => defineTask({ ...task, rateLimit: [of(1), rateOf(60)] })).toThrow(TypeError);
  });
});

test("options that are undefined are left out", () => {
  const absent = {
    description: undefined,
    retry: undefined,
    concurrency: undefined,
    push: undefined,
    files: undefined,
  };
  expect(() => defineTask({ ...task, ...absent } as never)).not.toThrow();
  expect(() => defineSchedule({ ...schedule, timezone: undefined, priority: undefined } as never)).not.toThrow();
});

test("a definition may be made of another one", () => {
  expect(defineTask({ ...type, name: "mail.later" } as never).name).toBe("mail.later");
});

describe("schemas whose code is async or throws", () => {
  const later = defineTask({ ...task, input: z.object({ to: z.string().refine(async (to) => to !== "") }) });
  const broken = defineTask({ ...task, input: z.string().transform((text) => JSON.parse(text) as unknown) });

  test("an async one is awaited by the worker, and not by a schedule's definition", () => {
    expect(() => defineSchedule({ ...schedule, type: later, input: { to: "" } })).not.toThrow();
    expect(() => defineTrigger({ ...trigger, type: later })).not.toThrow();
  });

  test("one that throws refuses the schedule", () => {
    expect(() => defineSchedule({ ...schedule, type: broken, input: "{" })).toThrow(/input.*its schema threw an error/);
  });
});
