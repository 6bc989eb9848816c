import * as z from "zod";
import { parseLimits } from "./core/limits.ts";
import { roles } from "./core/ports.ts";
import { type Tier, tiers } from "./core/tier.ts";

/** The Lambda functions, one per file in `lambdas/`. */
export const functions = ["submit", "status", "control", "worker", "redrive", "fire", "authorizer"] as const;
export type FunctionName = (typeof functions)[number];

/** Which function answers which route, for the gateway in AWS and the local one. Everything else goes to `status`, for a 404 or 405. */
export const routes: readonly { method: string; path: string; handler: FunctionName; open?: true }[] = [
  { method: "GET", path: "/health", handler: "status", open: true },
  { method: "POST", path: "/tasks", handler: "submit" },
  { method: "GET", path: "/tasks", handler: "status" },
  { method: "GET", path: "/tasks/{task_id}", handler: "status" },
  { method: "GET", path: "/tasks/{task_id}/attempts", handler: "status" },
  { method: "GET", path: "/tasks/{task_id}/result", handler: "status" },
  { method: "POST", path: "/tasks/{task_id}/cancel", handler: "control" },
  { method: "POST", path: "/tasks/{task_id}/retry", handler: "control" },
  { method: "POST", path: "/tasks/{task_id}/extend", handler: "control" },
  { method: "GET", path: "/dead-letters", handler: "status" },
  { method: "POST", path: "/dead-letters/replay", handler: "control" },
  { method: "POST", path: "/dead-letters/discard", handler: "control" },
  { method: "GET", path: "/operations/{operation_id}", handler: "status" },
  { method: "GET", path: "/queues", handler: "control" },
  { method: "GET", path: "/schedules", handler: "status" },
  { method: "POST", path: "/schedules", handler: "control" },
  { method: "POST", path: "/schedules/preview", handler: "status" },
  { method: "GET", path: "/schedules/{schedule_id}", handler: "status" },
  { method: "PATCH", path: "/schedules/{schedule_id}", handler: "control" },
  { method: "DELETE", path: "/schedules/{schedule_id}", handler: "control" },
  { method: "GET", path: "/schedules/{schedule_id}/next", handler: "status" },
  { method: "POST", path: "/schedules/{schedule_id}/run", handler: "control" },
];

/** A value for each tier. */
export type PerTier<T> = Record<Tier, T>;

const perTierUrls = z.string().transform((text, context): PerTier<string> => {
  const parsed = z.record(z.enum(tiers), z.url()).safeParse(parseJson(text));
  if (parsed.success) return parsed.data as PerTier<string>;
  context.addIssue({ code: "custom", message: "expected a JSON object with a URL for each tier" });
  return z.NEVER;
});

/** Has zod say what a parser throws. */
const orIssue =
  <T>(parse: (text: string) => T) =>
  (text: string, context: z.RefinementCtx): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  };

/** A setting that may be left out, or empty. */
const optionalText = z
  .string()
  .optional()
  .transform((text) => (text === "" ? undefined : text));

/** Whether a secret may be asked for there: over TLS, or on this machine. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" || (url?.protocol === "http:" && ["127.0.0.1", "localhost"].includes(url.hostname));
}

const safeUrl = optionalText.refine((text) => text === undefined || isSafeUrl(text), "expected an https URL");

/** Signatures that a token of an issuer can have: made with a key that only the issuer holds, so neither HS256 nor none. */
export const jwtAlgorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** Every setting that a function can have: its variable, and how its text is read. The same table writes and reads them. */
const settings = {
  /** Name of the DynamoDB table. */
  table: { variable: "OFFLOAD_TABLE", schema: z.string().min(1) },
  /** URLs of the tier queues, as JSON. */
  queueUrls: { variable: "OFFLOAD_QUEUE_URLS", schema: perTierUrls },
  /** URLs of the tiers' dead-letter queues, as JSON. */
  dlqUrls: { variable: "OFFLOAD_DLQ_URLS", schema: perTierUrls },
  /** The tier that a worker function serves. */
  tier: { variable: "OFFLOAD_TIER", schema: z.enum(tiers) },
  /** EventBridge Scheduler's group for this deployment. */
  scheduleGroup: { variable: "OFFLOAD_SCHEDULE_GROUP", schema: z.string().min(1) },
  /** ARN of the fire function, the target of every schedule. */
  fireArn: { variable: "OFFLOAD_FIRE_ARN", schema: z.string().startsWith("arn:") },
  /** ARN of the role with which EventBridge Scheduler calls fire. */
  schedulerRoleArn: { variable: "OFFLOAD_SCHEDULER_ROLE_ARN", schema: z.string().startsWith("arn:") },
  /** ARN of the queue for firings that could not be delivered. */
  schedulerDlqArn: { variable: "OFFLOAD_SCHEDULER_DLQ_ARN", schema: z.string().startsWith("arn:") },
  /** URL of the queue that brings firings back, and checks of rules to fire. */
  firingsUrl: { variable: "OFFLOAD_FIRINGS_URL", schema: z.url() },
  /** Path of the catalogue of task types; relative paths start at the bundle. */
  catalogFile: { variable: "OFFLOAD_CATALOG_FILE", schema: z.string().min(1).default("catalog.json") },
  /** Path of the app's schedules; relative paths start at the bundle. */
  schedulesFile: { variable: "OFFLOAD_SCHEDULES_FILE", schema: z.string().min(1).default("schedules.json") },
  /** Whether the probe types are registered. */
  probes: {
    variable: "OFFLOAD_PROBES",
    schema: z
      .enum(["0", "1"])
      .default("0")
      .transform((text) => text === "1"),
  },
  /** Multiplies retry waits; 0.01 makes 30 s into 1 s, the least there is. */
  timeScale: { variable: "OFFLOAD_TIME_SCALE", schema: z.coerce.number().positive().max(1000).default(1) },
  /** Signs cursors: any text that outsiders cannot guess and that stays the same over deployments. */
  cursorKey: { variable: "OFFLOAD_CURSOR_KEY", schema: z.string().min(16) },
  /** What `/health` adds on the local server, as a JSON object. */
  localHealth: {
    variable: "OFFLOAD_LOCAL_HEALTH",
    schema: z
      .string()
      .default("{}")
      .transform((text) => (parseJson(text) ?? {}) as Record<string, unknown>),
  },
  /** What `/health` says is running. */
  version: { variable: "OFFLOAD_VERSION", schema: z.string().default("unknown") },
  /** The OIDC issuer whose tokens are taken beside API keys. Absent: none. */
  jwtIssuer: { variable: "OFFLOAD_JWT_ISSUER", schema: safeUrl },
  /** What the issuer's tokens name as their audience. */
  jwtAudience: { variable: "OFFLOAD_JWT_AUDIENCE", schema: optionalText },
  /** The claim with the tenant. */
  jwtTenantClaim: { variable: "OFFLOAD_JWT_TENANT_CLAIM", schema: z.string().min(1).default("tenant") },
  /** The claim with the role, or with a list of names of which the mightiest known role counts. */
  jwtRoleClaim: { variable: "OFFLOAD_JWT_ROLE_CLAIM", schema: z.string().min(1).default("role") },
  /** The role of tokens without a known one. Absent: they are refused. */
  jwtDefaultRole: {
    variable: "OFFLOAD_JWT_DEFAULT_ROLE",
    schema: optionalText.pipe(z.enum(roles).optional()),
  },
  /** Where the issuer's public keys are. Absent: where its discovery document says. */
  jwtJwksUrl: { variable: "OFFLOAD_JWT_JWKS_URL", schema: safeUrl },
  /** The signatures that tokens may have, separated by commas. */
  jwtAlgorithms: {
    variable: "OFFLOAD_JWT_ALGORITHMS",
    schema: z
      .string()
      .default("RS256,ES256,EdDSA")
      .transform((text) => text.split(",").map((name) => name.trim()))
      .refine(
        (names) => names.every((name) => jwtAlgorithms.includes(name)),
        `expected a list of ${jwtAlgorithms.join(", ")}`,
      ),
  },
  /** How far the issuer's clock may be off, in seconds. */
  jwtClockSkewSeconds: {
    variable: "OFFLOAD_JWT_CLOCK_SKEW_SECONDS",
    schema: z.coerce.number().int().min(0).max(300).default(30),
  },
  /** What bounds tenants' submits and the tiers' depths, as JSON; `npx offload limits` comes on top. Absent: nothing does. */
  limits: { variable: "OFFLOAD_LIMITS", schema: z.string().default("").transform(orIssue(parseLimits)) },
  /** `token:tenant:role` list, for the local server only. */
  localKeys: { variable: "OFFLOAD_KEYS", schema: z.string().default("") },
} as const;

type Settings = typeof settings;
export type SettingName = keyof Settings;
export type Setting<Name extends SettingName> = z.output<Settings[Name]["schema"]>;

/** Values of some settings, read and checked. */
export type Config<Name extends SettingName> = { readonly [N in Name]: Setting<N> };

/**
 * Reads settings from an environment.
 * @throws Error naming each variable that is missing or wrong, and how to mend it.
 */
export function fromEnv<Name extends SettingName>(env: NodeJS.ProcessEnv, names: readonly Name[]): Config<Name> {
  const wrong: string[] = [];
  const config: Partial<Record<SettingName, unknown>> = {};
  for (const name of names) {
    const { variable, schema } = settings[name];
    const parsed = schema.safeParse(env[variable]);
    if (parsed.success) config[name] = parsed.data;
    else wrong.push(`${variable}: ${parsed.error.issues[0]?.message ?? "wrong"}`);
  }
  if (wrong.length > 0) {
    throw new Error(
      `Offload is not configured: ${wrong.join("; ")}. The TaskPipeline construct and \`npm start\` set these variables; ` +
        "a function started by hand needs them in its environment.",
    );
  }
  return config as Config<Name>;
}

/** The texts that settings may be written from: JSON for the lists of URLs, plain text for the rest. */
export type SettingTexts = {
  readonly [N in SettingName]?: N extends "queueUrls" | "dlqUrls" ? PerTier<string> : string;
};

/** Writes settings as environment variables: the counterpart of `fromEnv`. */
export function toEnv(values: SettingTexts): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    env[settings[name as SettingName].variable] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return env;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The message attributes that carry what an immutable envelope cannot: both numbers as text. */
export const messageAttributes = { solo: "offload.solo", redrives: "offload.redrives" } as const;

/** The local server's table. */
export const localTable = "offload";

/** Names of the table's indexes. Sharding and keys: `src/aws/table.ts`. */
export const indexes = { tenant: "tenant", principal: "principal", deadLetters: "dead-letters" } as const;

/** Receives of one message until a tier queue gives it to redrive; AWS asks for at least 5 with Lambda, as throttles count. */
export const maxReceiveCount = 5;

/** Time-out of the worker functions, in seconds: Lambda's most. A type's own time-out is at most 840 s. */
export const workerTimeoutSeconds = 900;

/** Messages that a worker takes at once: SQS's most without a batching window. */
export const workerBatchSize = 10;

/** Worker invocations that a tier may have at once where nothing else is said: half of an account's usual 1,000 together. */
export const defaultConcurrency: PerTier<number> = { critical: 200, high: 150, normal: 100, low: 50 };

/** Requests that the API takes where nothing else is said: a second, and at once. */
export const defaultThrottle = { requestsPerSecond: 500, burst: 1_000 } as const;
