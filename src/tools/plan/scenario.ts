import * as z from "zod";
import { longestWaitSeconds } from "../../core/control/task-ends.ts";
import { maxCalls } from "../../core/extras/steps/attempt-steps.ts";
import { largestFileBytes } from "../../core/model/stored-file.ts";
import { type Tier, tiers } from "../../core/model/words.ts";
import { maxEntries } from "../../core/pipeline/submit/submit-body.ts";
import { maxFiles } from "../../core/task/file-options.ts";
import { maxPermits, maxStarts } from "../../core/task/type-limits.ts";
import { defaultThrottle } from "../../settings/config.ts";
import { limits, type PriceName, priceRegion, prices } from "./figures.ts";

const share = z.number().min(0).max(1);
const count = z.int().min(0);

/** Duration of a handler. */
const durationSchema = z
  .strictObject({
    /** Median, in milliseconds. */
    p50Ms: z.number().positive().max(840_000),
    /** 99th percentile, in milliseconds. */
    p99Ms: z.number().positive().max(840_000),
  })
  .refine(({ p50Ms, p99Ms }) => p99Ms >= p50Ms, { path: ["p99Ms"], message: "expected at least p50Ms" });

const tierSchema = z
  .strictObject({
    /** Share of all tasks in this tier, 0 to 1. Default: all tasks are in `normal`. */
    share: share.default(0),
    /** Durations of the handlers in this tier. Default: those of the scenario. */
    durations: durationSchema.optional(),
    /** Concurrent invocations, 2 to 1000. Default: that of the TaskPipeline construct. */
    maxConcurrency: z.int().min(2).max(1_000).optional(),
    /** Pollers that are always running; not together with `maxConcurrency`. Default: none. */
    provisionedPollers: z
      .strictObject({ minimum: z.int().min(2).max(200), maximum: z.int().min(2).max(2_000) })
      .optional(),
  })
  .refine((tier) => tier.maxConcurrency === undefined || tier.provisionedPollers === undefined, {
    path: ["provisionedPollers"],
    message: "expected either maxConcurrency or provisionedPollers, not both",
  });

const batchSizeSchema = z.int().min(1).max(maxEntries);

const burstSchema = z.strictObject({
  /** Start of the burst, in seconds from the start of the simulation. */
  atSeconds: z.number().min(0),
  /** Number of tasks in the burst. */
  tasks: count,
  /** Length of the burst, in seconds. Default: 60. */
  overSeconds: z.number().positive().default(60),
  /** Tier of all its tasks. Default: the tiers' shares decide. */
  tier: z.enum(tiers).optional(),
  /** Tasks of one request, 1 to 500. Default: `batchSize` of the scenario. */
  batchSize: batchSizeSchema.optional(),
});

/**
 * Overhead of the pipeline itself. Bytes are measured, times are estimated; `docs/performance.md` names the sources.
 */
const overheadSchema = z.strictObject({
  /** Billed time of one submit, status and authorizer invocation, in milliseconds. */
  submitMs: z.number().min(0).default(20),
  /** Billed time that each further task of a batch adds to its submit invocation, in milliseconds. */
  batchTaskMs: z.number().min(0).default(1.1),
  /**
   * Billed time that a child adds to the attempt that spawns it, and to the attempt that reads its result, in
   * milliseconds.
   */
  spawnMs: z.number().min(0).default(1),
  resultMs: z.number().min(0).default(0.2),
  statusMs: z.number().min(0).default(8),
  authorizerMs: z.number().min(0).default(2),
  /** Time from a visible message to the start of its invocation, in milliseconds. AWS documents no figure. */
  pickUpMs: z.number().min(0).default(20),
  /** Time that a step adds to its attempt to be stored, in milliseconds, and bytes of a stored step. */
  stepMs: z.number().min(0).default(5),
  stepBytes: count.default(300),
  /** Time that claim and settle add to a batch, in milliseconds. */
  batchMs: z.number().min(0).default(30),
  /** Start of a worker's execution environment, in milliseconds. */
  coldStartMs: z.number().min(0).default(400),
  /**
   * Log bytes, including metrics, of a submit, of a task in a batch of submits, of an attempt and of a worker's batch.
   */
  submitLogBytes: count.default(510),
  batchTaskLogBytes: count.default(290),
  attemptLogBytes: count.default(370),
  batchLogBytes: count.default(500),
  /**
   * Billed time of a notice beside its webhook, and of a try of a webhook beside its receiver, in milliseconds; log
   * bytes of a try.
   */
  noticeMs: z.number().min(0).default(20),
  tryMs: z.number().min(0).default(30),
  tryLogBytes: count.default(700),
  /** Log bytes of the access log for each request, and of Lambda for each invocation: it tells of failed ones only. */
  requestLogBytes: count.default(340),
  invocationLogBytes: count.default(0),
  /** Bytes of a record, new and settled, and of its entry in the tenant's index. */
  newRecordBytes: count.default(700),
  settledRecordBytes: count.default(1_000),
  indexEntryBytes: count.default(300),
});

const priceSchema = z.partialRecord(z.enum(Object.keys(prices) as [PriceName, ...PriceName[]]), z.number().min(0));

/** Input of the planner. Every field has a default; together they mean one task per second for a day. */
export const scenarioSchema = z
  .strictObject({
    /** Title of the report. Default: "plan". */
    name: z.string().max(200).default("plan"),
    /** Simulated time in hours. The monthly cost assumes that it repeats. Default: 24. */
    hours: z
      .number()
      .positive()
      .max(24 * 31)
      .default(24),
    /** Tasks per second: one rate, or a list of rates that each last an equal part of the time. Default: 1. */
    tasksPerSecond: z.union([z.number().min(0), z.array(z.number().min(0)).min(1).max(10_000)]).default(1),
    /**
     * Tasks of one request: with more than 1, tasks are submitted in batches, `POST /tasks/batch`. 1 to 500. Default:
     * 1.
     */
    batchSize: batchSizeSchema.default(1),
    /**
     * Children that each submitted task spawns, 0 to 1,000,000, and the tier of all children. Default: none; the tiers'
     * shares decide.
     */
    children: z
      .strictObject({ perTask: z.int().min(0).max(1_000_000).default(0), tier: z.enum(tiers).optional() })
      .prefault({}),
    /**
     * Steps and sleeps of each task, `task.step` and `task.sleep`, children included; each sleep of at most 15 minutes.
     * Default: none.
     */
    steps: z
      .strictObject({
        perTask: z.int().min(0).max(maxCalls).default(0),
        sleeps: z.int().min(0).max(maxCalls).default(0),
      })
      .prefault({}),
    /**
     * Tasks of types with `concurrency` or `rateLimit`: their share of all tasks, 0 to 1; the busiest key's share of
     * those; the places of each key; its starts per second. Only a limit that is set costs anything. And the number of
     * keys whose tasks wait for hours, at any time. Default: no limits; shares of 1; no such keys.
     */
    limited: z
      .strictObject({
        share: share.default(1),
        busiestKeyShare: share.default(1),
        places: z.int().min(1).max(maxPermits).optional(),
        startsPerSecond: z.number().positive().max(maxStarts).optional(),
        blockedKeys: z.number().min(0).default(0),
      })
      .prefault({}),
    /**
     * Files that each submitted task comes with, sent by `POST /uploads`, and their size in bytes; size of the result
     * in bytes, which counts when it is over 300 KiB. Children have none. Default: no files, of 1 MB each; small
     * results.
     */
    files: z
      .strictObject({
        perTask: z.number().min(0).max(maxFiles).default(0),
        bytes: z.int().min(0).max(largestFileBytes).default(1_000_000),
        resultBytes: z.int().min(0).max(largestFileBytes).default(0),
      })
      .prefault({}),
    /**
     * Share of submitted tasks with a webhook, 0 to 1; time from the start of a connection to the receiver's answer, in
     * milliseconds; share of tries that fail, each followed by another. Default: no webhooks; 300 ms; 0.01.
     */
    webhooks: z
      .strictObject({
        share: share.default(0),
        receiverMs: z.number().min(0).max(10_000).default(300),
        failShare: share.default(0.01),
      })
      .prefault({}),
    /** True: each end of a task is an event. Default: false. */
    events: z.boolean().default(false),
    /**
     * Share of submitted tasks that an open channel hears, 0 to 1; messages for each of them; open connections on
     * average. Default: no push; 3 messages.
     */
    push: z
      .strictObject({
        share: share.default(0),
        messagesPerTask: z.number().min(1).max(1_000).default(3),
        connections: z.number().min(0).max(10_000_000).default(0),
      })
      .prefault({}),
    /**
     * Tasks with `runsOn: "container"`, in addition to `tasksPerSecond`: tasks a day, minutes of an attempt, and the
     * options `containers` of the TaskPipeline construct. Only the containers are calculated. Default: none; 30
     * minutes; the construct's defaults.
     */
    containers: z
      .strictObject({
        tasksPerDay: z.number().min(0).max(10_000_000).default(0),
        minutes: z.number().positive().max(720).default(30),
        cpu: z.int().min(256).max(16_384).default(1_024),
        memoryMiB: z.int().min(512).max(122_880).default(2_048),
        concurrency: z.int().min(1).max(1_000).default(4),
        minTasks: z.int().min(0).max(500).default(0),
      })
      .prefault({}),
    /** Bursts in addition to `tasksPerSecond`. Default: none. */
    bursts: z.array(burstSchema).max(1_000).default([]),
    /** The tiers. Default: all tasks in `normal`. */
    tiers: z.partialRecord(z.enum(tiers), tierSchema).default({ normal: { share: 1 } }),
    /** Durations of the handlers. Default: median 200 ms, 99th percentile 2 s. */
    durations: durationSchema.default({ p50Ms: 200, p99Ms: 2_000 }),
    /** Share of attempts that fail and are retried, 0 to 1. Default: 0.01. */
    failureRate: share.default(0.01),
    /** Maximum number of attempts of a task. Default: 5. */
    maxAttempts: z.int().min(1).max(20).default(5),
    /** Share of tasks that are submitted with a delay, and the delay in seconds. Default: none. */
    delayed: z.strictObject({ share, seconds: z.number().min(0).max(31_536_000) }).default({ share: 0, seconds: 0 }),
    /** Status polls for each task. Default: 5. */
    pollsPerTask: z.number().min(0).max(10_000).default(5),
    /**
     * Requests for each task that wait for its end (`GET /tasks/{id}?wait=20`), in addition to the polls; the seconds
     * for which each waits on average; and the places of the deployment, `waits` of the TaskPipeline construct.
     * Default: none, of 20 s each; 100 places.
     */
    waits: z
      .strictObject({
        perTask: z.number().min(0).max(10_000).default(0),
        seconds: z.number().min(0).max(longestWaitSeconds).default(longestWaitSeconds),
        places: z.int().min(0).max(1_000).default(100),
      })
      .prefault({}),
    /** Size of an envelope in bytes. Default: 1000. */
    messageBytes: z.int().min(1).max(49_152).default(1_000),
    /** Retention of records, in days. Default: 7. */
    retentionDays: z.number().min(0).max(31).default(7),
    /** Memory of a worker and of the other functions, in MB. Default: 512. */
    workerMemoryMb: z.int().min(128).max(10_240).default(512),
    apiMemoryMb: z.int().min(128).max(10_240).default(512),
    /** Share of tasks of the busiest tenant, whose index partitions limit its submits. Default: 1. */
    busiestTenantShare: share.default(1),
    /**
     * Share of tasks of the busiest key or token with the role submitter, whose list limits its submits. Default: 1.
     */
    busiestSubmitterShare: share.default(1),
    /** Shards of the lists, `listShards` of the TaskPipeline construct. Default: 1. */
    listShards: z.int().min(1).max(64).default(1),
    /** The API's throttle. Default: that of the TaskPipeline construct. */
    throttle: z
      .strictObject({ requestsPerSecond: z.number().positive(), burst: z.number().positive() })
      .default({ ...defaultThrottle }),
    /** The account's Lambda concurrency. New accounts may have less than the usual 1,000. Default: 1,000. */
    accountConcurrency: z.int().min(10).max(1_000_000).default(limits.accountConcurrency.value),
    overhead: overheadSchema.prefault({}),
    /** Number of metrics that the stack's alarms watch; AWS charges for each of them. Default: 90. */
    alarms: count.default(90),
    /** Number of dashboards. Default: 1. */
    dashboards: count.default(1),
    /** Number of custom metrics: about seven for each used tier, and three for each task type. Default: 20. */
    metrics: count.default(20),
    /** Region of `prices`, shown in the report. Default: us-east-1. */
    region: z.string().min(1).max(40).default(priceRegion),
    /** Prices that replace the list prices, by name: for another Region or a discount. Default: none. */
    prices: priceSchema.default({}),
    /** Seed of the random numbers. Default: 1. */
    seed: z.int().default(1),
  })
  .refine((plan) => Math.abs(tierShares(plan.tiers) - 1) < 1e-6, {
    path: ["tiers"],
    message: "expected shares that add up to 1",
  });

export type Scenario = z.output<typeof scenarioSchema>;
export type ScenarioInput = z.input<typeof scenarioSchema>;

const tierShares = (given: Partial<Record<Tier, { share: number }>>): number =>
  Object.values(given).reduce((sum, tier) => sum + tier.share, 0);

/**
 * Parses a scenario and adds the defaults of missing fields.
 * @throws Error with a message of one line that names the first invalid field
 */
export function readScenario(input: unknown): Scenario {
  const parsed = scenarioSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${issue?.path.join(".") || "the scenario"}: ${issue?.message ?? "is wrong"}`);
}
