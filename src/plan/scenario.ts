import * as z from "zod";
import { defaultThrottle } from "../config.ts";
import { type Tier, tiers } from "../core/tier.ts";
import { limits, type PriceName, priceRegion, prices } from "./figures.ts";

const share = z.number().min(0).max(1);
const count = z.int().min(0);

/** How long a handler takes. */
const durationSchema = z
  .strictObject({
    /** Milliseconds that half of all attempts stay under. */
    p50Ms: z.number().positive().max(840_000),
    /** Milliseconds that 99 of 100 attempts stay under. */
    p99Ms: z.number().positive().max(840_000),
  })
  .refine(({ p50Ms, p99Ms }) => p99Ms >= p50Ms, { path: ["p99Ms"], message: "expected at least p50Ms" });

const tierSchema = z
  .strictObject({
    /** Which part of all tasks goes into this tier. Default: all in `normal`. */
    share: share.default(0),
    /** The handlers' times in this tier. Default: the scenario's. */
    durations: durationSchema.optional(),
    /** Invocations at once, 2 to 1000. Default: that of the TaskPipeline construct. */
    maxConcurrency: z.int().min(2).max(1_000).optional(),
    /** Pollers that wait for work at all times; not with `maxConcurrency`. Default: none. */
    provisionedPollers: z
      .strictObject({ minimum: z.int().min(2).max(200), maximum: z.int().min(2).max(2_000) })
      .optional(),
  })
  .refine((tier) => tier.maxConcurrency === undefined || tier.provisionedPollers === undefined, {
    path: ["provisionedPollers"],
    message: "expected either maxConcurrency or provisionedPollers, not both",
  });

const burstSchema = z.strictObject({
  /** When it begins, in seconds from the start. */
  atSeconds: z.number().min(0),
  /** How many tasks come. */
  tasks: count,
  /** Within how many seconds they come. Default: 60. */
  overSeconds: z.number().positive().default(60),
  /** The tier they go into. Default: by the tiers' shares. */
  tier: z.enum(tiers).optional(),
});

/** What the pipeline itself takes: bytes as measured, times as estimated. `docs/performance.md` says from what. */
const overheadSchema = z.strictObject({
  /** Billed time of one submit, status and authorizer invocation, in milliseconds. */
  submitMs: z.number().min(0).default(20),
  statusMs: z.number().min(0).default(8),
  authorizerMs: z.number().min(0).default(2),
  /** From when a message is visible until its invocation begins, in milliseconds: AWS names no figure. */
  pickUpMs: z.number().min(0).default(20),
  /** What claim and settle add to a batch, in milliseconds. */
  batchMs: z.number().min(0).default(30),
  /** Start of a worker's environment, in milliseconds. */
  coldStartMs: z.number().min(0).default(400),
  /** Log bytes, metrics included: of a submit, of an attempt, and of a batch. */
  submitLogBytes: count.default(570),
  attemptLogBytes: count.default(470),
  batchLogBytes: count.default(750),
  /** Log bytes that others write: the access log for a request, and Lambda for an invocation. */
  requestLogBytes: count.default(500),
  invocationLogBytes: count.default(350),
  /** Bytes of a record, new and settled, and of its entry in the tenant's index. */
  newRecordBytes: count.default(700),
  settledRecordBytes: count.default(1_000),
  indexEntryBytes: count.default(300),
});

const priceSchema = z.partialRecord(z.enum(Object.keys(prices) as [PriceName, ...PriceName[]]), z.number().min(0));

/** What to plan for. Everything has a default: one task a second for a day. */
export const scenarioSchema = z
  .strictObject({
    /** Shown in the report. Default: none. */
    name: z.string().max(200).default("plan"),
    /** How many hours are simulated; a month's cost is this, repeated. Default: 24. */
    hours: z
      .number()
      .positive()
      .max(24 * 31)
      .default(24),
    /** Tasks per second: one rate, or several that each hold for an equal part of the time, as a curve over a day. */
    tasksPerSecond: z.union([z.number().min(0), z.array(z.number().min(0)).min(1).max(10_000)]).default(1),
    /** What comes on top of that at once. Default: none. */
    bursts: z.array(burstSchema).max(1_000).default([]),
    /** The tiers. Default: everything in `normal`. */
    tiers: z.partialRecord(z.enum(tiers), tierSchema).default({ normal: { share: 1 } }),
    /** The handlers' times. Default: 200 ms, 1 in 100 over 2 s. */
    durations: durationSchema.default({ p50Ms: 200, p99Ms: 2_000 }),
    /** Which part of all attempts fails in a way that is retried. Default: 1 %. */
    failureRate: share.default(0.01),
    /** Default: 5. */
    maxAttempts: z.int().min(1).max(20).default(5),
    /** Which part of all tasks is submitted for later, and how much later. Default: none. */
    delayed: z.strictObject({ share, seconds: z.number().min(0).max(31_536_000) }).default({ share: 0, seconds: 0 }),
    /** Status polls for each task. Default: 5. */
    pollsPerTask: z.number().min(0).max(10_000).default(5),
    /** Size of an envelope in bytes. Default: 1000. */
    messageBytes: z.int().min(1).max(49_152).default(1_000),
    /** How long records are kept, in days. Default: 7. */
    retentionDays: z.number().min(0).max(31).default(7),
    /** Memory of a worker and of the other functions, in MB. Default: 512. */
    workerMemoryMb: z.int().min(128).max(10_240).default(512),
    apiMemoryMb: z.int().min(128).max(10_240).default(512),
    /** Which part of all tasks is the busiest tenant's: its index partitions bound it. Default: all. */
    busiestTenantShare: share.default(1),
    /** The API's own throttle. Default: that of the TaskPipeline construct. */
    throttle: z
      .strictObject({ requestsPerSecond: z.number().positive(), burst: z.number().positive() })
      .default({ ...defaultThrottle }),
    /** The account's Lambda concurrency. New accounts may have less than the usual 1,000. */
    accountConcurrency: z.int().min(10).max(1_000_000).default(limits.accountConcurrency.value),
    overhead: overheadSchema.prefault({}),
    /** How many metrics the stack's alarms watch, which is what AWS charges. Default: 90. */
    alarms: count.default(90),
    /** How many dashboards it has. Default: 1. */
    dashboards: count.default(1),
    /** How many metrics of its own it reports: about seven for each tier that is used, and three for each type. Default: 20. */
    metrics: count.default(20),
    /** The Region that the prices below are of; for the report. Default: that of the list. */
    region: z.string().min(1).max(40).default(priceRegion),
    /** Prices that differ from the list, by name: those of another Region, or with a discount. Default: none. */
    prices: priceSchema.default({}),
    /** Another seed gives another draw of the same odds. Default: 1. */
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
 * Reads a scenario, with defaults for all that it leaves out.
 * @throws Error in one line that names the first field that is wrong
 */
export function readScenario(input: unknown): Scenario {
  const parsed = scenarioSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${issue?.path.join(".") || "the scenario"}: ${issue?.message ?? "is wrong"}`);
}
