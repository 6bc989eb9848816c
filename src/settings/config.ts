import { type Tier, tiers, tokenRoles } from "../core/model/words.ts";
import {
  allowedHosts,
  arn,
  clusterAndService,
  jwtAlgorithmList,
  longText,
  numberOr,
  oneOf,
  optionalPerTierUrls,
  optionalText,
  origins,
  parseJson,
  perTierUrls,
  type Read,
  rolesByClaim,
  safeUrl,
  secretSources,
  text,
  textOr,
  url,
  wholeNumberOr,
} from "./read-setting.ts";

export { isSafeUrl } from "./read-setting.ts";

/** The Lambda functions, one per file in `lambdas/`. */
export const functions = [
  ...([
    "submit",
    "status",
    "control",
    "worker",
    "redrive",
    "fire",
    "authorizer",
    "publish",
    "socket",
    "notify",
    "wake",
    "console",
  ] as const),
] as const;
export type FunctionName = (typeof functions)[number];

/** A value for each tier. */
export type PerTier<T> = Record<Tier, T>;

/** All settings of functions, with their variables and parsers. `toEnv` and `fromEnv` both use this table. */
const settings = {
  /** Name of the DynamoDB table. */
  table: { variable: "OFFLOAD_TABLE", read: text },
  /** Name of the S3 bucket of files, large inputs and large results. */
  bucket: { variable: "OFFLOAD_BUCKET", read: text },
  /** URLs of the tier queues, as JSON. */
  queueUrls: { variable: "OFFLOAD_QUEUE_URLS", read: perTierUrls },
  /**
   * URLs of the tiers' queues that only container workers read, as JSON. Absent: the deployment has no container
   * workers.
   */
  containerQueueUrls: { variable: "OFFLOAD_CONTAINER_QUEUE_URLS", read: optionalPerTierUrls },
  /** Name of the function that starts a container when none runs. Absent: nothing starts containers. */
  wakeFunction: { variable: "OFFLOAD_WAKE_FUNCTION", read: optionalText },
  /** Cluster and service of the container workers, for the function that starts one: `cluster/service`. */
  containerService: { variable: "OFFLOAD_CONTAINER_SERVICE", read: clusterAndService },
  /** URL of the notify queue. Absent: the program only submits, and never ends a task. */
  notifyUrl: { variable: "OFFLOAD_NOTIFY_URL", read: optionalText },
  /** True when each end of a task is sent as an event. */
  notifyEvents: { variable: "OFFLOAD_NOTIFY_EVENTS", read: (given = "0") => oneOf(["0", "1"])(given) === "1" },
  /** True when tasks are pushed to channels. */
  notifyPush: { variable: "OFFLOAD_NOTIFY_PUSH", read: (given = "0") => oneOf(["0", "1"])(given) === "1" },
  /** URLs of the tiers' dead-letter queues, as JSON. */
  dlqUrls: { variable: "OFFLOAD_DLQ_URLS", read: perTierUrls },
  /** The tier that a worker function serves. */
  tier: { variable: "OFFLOAD_TIER", read: oneOf(tiers) },
  /** EventBridge Scheduler's group for this deployment. */
  scheduleGroup: { variable: "OFFLOAD_SCHEDULE_GROUP", read: text },
  /** ARN of the fire function, the target of every schedule. */
  fireArn: { variable: "OFFLOAD_FIRE_ARN", read: arn },
  /** ARN of the role with which EventBridge Scheduler calls fire. */
  schedulerRoleArn: { variable: "OFFLOAD_SCHEDULER_ROLE_ARN", read: arn },
  /** ARN of the queue for firings that could not be delivered. */
  schedulerDlqArn: { variable: "OFFLOAD_SCHEDULER_DLQ_ARN", read: arn },
  /** URL of the queue that brings failed firings, and checks of rules, to fire. */
  firingsUrl: { variable: "OFFLOAD_FIRINGS_URL", read: url },
  /** Path of the catalogue of task types; relative paths start at the bundle. */
  catalogFile: { variable: "OFFLOAD_CATALOG_FILE", read: textOr("catalog.json") },
  /** Log groups in which lines of tasks are, as JSON. Absent: the local server plays the service. */
  logGroups: { variable: "OFFLOAD_LOG_GROUPS", read: optionalText },
  /** Path of the app's schedules; relative paths start at the bundle. */
  schedulesFile: { variable: "OFFLOAD_SCHEDULES_FILE", read: textOr("schedules.json") },
  /** Path of the app's triggers; relative paths start at the bundle. */
  triggersFile: { variable: "OFFLOAD_TRIGGERS_FILE", read: textOr("triggers.json") },
  /** URL of the DLQ of firings, which keeps events that a trigger refused. Absent: the app has no triggers. */
  firingsDlqUrl: { variable: "OFFLOAD_FIRINGS_DLQ_URL", read: optionalText },
  /** Name or ARN of the event bus that gets an event for each end of a task. Absent: events are off. */
  eventBus: { variable: "OFFLOAD_EVENT_BUS", read: optionalText },
  /** `source` of these events: `offload.` and the name of the deployment. */
  eventSource: { variable: "OFFLOAD_EVENT_SOURCE", read: optionalText },
  /** Path of the OpenAPI document; relative paths start at the bundle. */
  openApiFile: { variable: "OFFLOAD_OPENAPI_FILE", read: textOr("openapi.json") },
  /** Folder of the console's files; a relative path starts at the bundle. */
  consoleFolder: { variable: "OFFLOAD_CONSOLE_FOLDER", read: textOr("console") },
  /** Client id with which the console signs in at the issuer. Absent: users sign in with an API key. */
  consoleClientId: { variable: "OFFLOAD_CONSOLE_CLIENT_ID", read: optionalText },
  /** Scope that the console asks the issuer for. */
  consoleScope: { variable: "OFFLOAD_CONSOLE_SCOPE", read: textOr("openid") },
  /** Origins that the console calls in addition to the issuer's, separated by commas. */
  consoleOrigins: { variable: "OFFLOAD_CONSOLE_ORIGINS", read: origins },
  /** True to register the probe types. */
  probes: { variable: "OFFLOAD_PROBES", read: (given = "0") => oneOf(["0", "1"])(given) === "1" },
  /** Secrets of handlers, as JSON. Absent: none. The local server takes their values from `.env`. */
  secrets: { variable: "OFFLOAD_SECRETS", read: secretSources },
  /** Factor for retry waits. The shortest wait is 1 s. */
  timeScale: {
    variable: "OFFLOAD_TIME_SCALE",
    read: numberOr(1, (scale) => scale > 0 && scale <= 1000, "a number above 0, at most 1000"),
  },
  /** Key that signs cursors: a secret text that stays the same over deployments. */
  cursorKey: { variable: "OFFLOAD_CURSOR_KEY", read: longText(16) },
  /** Additional members of `/health` on the local server, as a JSON object. */
  localHealth: {
    variable: "OFFLOAD_LOCAL_HEALTH",
    read: (given = "{}") => (parseJson(given) ?? {}) as Record<string, unknown>,
  },
  /** Version that `/health` returns. */
  version: { variable: "OFFLOAD_VERSION", read: (given = "unknown") => given },
  /** URL of the OIDC issuer whose tokens the API accepts, in addition to API keys. Absent: none. */
  jwtIssuer: { variable: "OFFLOAD_JWT_ISSUER", read: safeUrl },
  /** Audience of the issuer's tokens. */
  jwtAudience: { variable: "OFFLOAD_JWT_AUDIENCE", read: optionalText },
  /** Claim with the tenant. */
  jwtTenantClaim: { variable: "OFFLOAD_JWT_TENANT_CLAIM", read: textOr("tenant") },
  /** Claim with the role, or with a list of names. Of several known roles the most powerful one counts. */
  jwtRoleClaim: { variable: "OFFLOAD_JWT_ROLE_CLAIM", read: textOr("role") },
  /** Claim that is true where a viewer may read inputs and logs. */
  jwtInputsClaim: { variable: "OFFLOAD_JWT_INPUTS_CLAIM", read: textOr("inputs") },
  /**
   * Roles by values of the role claim, as JSON. Values that it does not contain count if they are the name of a role,
   * as `operator` at most.
   */
  jwtRoles: { variable: "OFFLOAD_JWT_ROLES", read: rolesByClaim },
  /** Role of tokens without a known role. Absent: such tokens are refused. */
  jwtDefaultRole: {
    variable: "OFFLOAD_JWT_DEFAULT_ROLE",
    read: (given) => (optionalText(given) === undefined ? undefined : oneOf(tokenRoles)(given)),
  },
  /** URL of the issuer's public keys. Absent: `jwks_uri` of its discovery document. */
  jwtJwksUrl: { variable: "OFFLOAD_JWT_JWKS_URL", read: safeUrl },
  /** Accepted signature algorithms of tokens, separated by commas. */
  jwtAlgorithms: { variable: "OFFLOAD_JWT_ALGORITHMS", read: jwtAlgorithmList },
  /** Tolerated difference between the clocks, in seconds. */
  jwtClockSkewSeconds: {
    variable: "OFFLOAD_JWT_CLOCK_SKEW_SECONDS",
    read: wholeNumberOr(30, 0, 300),
  },
  /**
   * Limits of tenants' submits and of the tiers' depths, as JSON for `parseLimits`. `npx offload limits` overrides
   * them. Absent: no limits.
   */
  limits: { variable: "OFFLOAD_LIMITS", read: (given = "") => given },
  /** Number of shards of a submitter's list of tasks, and of a tenant's if it is more than 4. */
  listShards: {
    variable: "OFFLOAD_LIST_SHARDS",
    read: wholeNumberOr(1, 1, 64),
  },
  /** Number of requests that may wait for the end of a task at the same time. 0: no request waits. */
  waits: {
    variable: "OFFLOAD_WAITS",
    read: wholeNumberOr(0, 0, 1_000),
  },
  /**
   * Receivers of webhooks that may be reached by `http` and at addresses that are not public, as `host:port`, separated
   * by commas.
   */
  callbackHosts: { variable: "OFFLOAD_CALLBACK_HOSTS", read: allowedHosts },
  /** Name of the SSM parameter with the master key of webhooks' secrets. */
  webhookKeyName: { variable: "OFFLOAD_WEBHOOK_KEY_NAME", read: optionalText },
  /** Master key of webhooks' secrets, 32 bytes as base64, for the local server only. */
  webhookKey: { variable: "OFFLOAD_WEBHOOK_KEY", read: optionalText },
  /** URL of the API, for the addresses that handlers give away. Absent: `task.signalUrl` fails. */
  apiUrl: { variable: "OFFLOAD_API_URL", read: optionalText },
  /** URL of the WebSocket API that clients of channels get. Absent: the deployment has no push. */
  socketUrl: { variable: "OFFLOAD_SOCKET_URL", read: optionalText },
  /** URL of the WebSocket API's management API, which sends messages to connections. */
  socketEndpoint: { variable: "OFFLOAD_SOCKET_ENDPOINT", read: optionalText },
  /**
   * Name of the deployment, for the console, and for metrics of programs that submit directly. Absent: Powertools' own
   * variable has it.
   */
  deployment: { variable: "OFFLOAD_DEPLOYMENT", read: optionalText },
  /** List of `token:tenant:role`, for the local server only. */
  localKeys: { variable: "OFFLOAD_KEYS", read: (given = "") => given },
} as const satisfies Record<string, { variable: `OFFLOAD_${string}`; read: Read<unknown> }>;

type Settings = typeof settings;
export type SettingName = keyof Settings;
export type Setting<Name extends SettingName> = ReturnType<Settings[Name]["read"]>;

/** Parsed values of settings. */
export type Config<Name extends SettingName> = { readonly [N in Name]: Setting<N> };

/**
 * Reads settings from environment variables.
 * @throws Error that names each missing or invalid variable, and how to fix it.
 */
export function fromEnv<Name extends SettingName>(env: NodeJS.ProcessEnv, names: readonly Name[]): Config<Name> {
  const wrong: string[] = [];
  const config: Partial<Record<SettingName, unknown>> = {};
  for (const name of names) {
    const { variable, read } = settings[name];
    try {
      config[name] = read(env[variable]);
    } catch (error) {
      wrong.push(`${variable}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (wrong.length > 0) {
    throw new Error(
      `Offload is not configured: ${wrong.join("; ")}. The TaskPipeline construct and \`npm start\` set these variables; ` +
        "a function that you start yourself needs them in its environment.",
    );
  }
  return config as Config<Name>;
}

/** Values of settings before they are written: objects for the lists of URLs, texts for all others. */
export type SettingTexts = {
  readonly [N in SettingName]?: N extends "queueUrls" | "dlqUrls" | "containerQueueUrls" ? PerTier<string> : string;
};

/** Writes settings as environment variables. The counterpart of `fromEnv`. */
export function toEnv(values: SettingTexts): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    env[settings[name as SettingName].variable] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return env;
}

/** Names of the settings' environment variables. */
export const variablesOf = (names: readonly SettingName[]): string[] => names.map((name) => settings[name].variable);

/** Message attributes for values that change, unlike the envelope. Both are numbers as text. */
export const messageAttributes = {
  solo: "offload.solo",
  redrives: "offload.redrives",
  grant: "offload.grant",
} as const;

/** Partition key of the table's item with the catalogue of task types, for programs that submit directly. */
export const catalogKey = "catalog";

/** Name of the local server's table. */
export const localTable = "offload";

/** Name of the local server's bucket. */
export const localBucket = "offload";

/** Names of the table's indexes. `src/aws/table.ts` describes their keys and shards. */
export const indexes = { tenant: "tenant", principal: "principal", deadLetters: "dead-letters" } as const;

/**
 * Number of index partitions, by the setting `listShards`: of a tenant's tasks and dead letters, and of a submitter's
 * tasks.
 */
export const partitionsOf = (listShards: number) => ({ tenant: Math.max(4, listShards), submitter: listShards });

/**
 * Receives of a message before a tier queue moves it to redrive. AWS advises at least 5, because throttled receives
 * count.
 */
export const maxReceiveCount = 5;

/**
 * Objects are deleted after this number of days, if Offload has not done it: more than the longest delay, life and
 * retention of a task.
 */
export const objectDays = 800;

/** Time-out of the functions that answer requests, in seconds. API Gateway itself waits 30 s at most. */
export const apiTimeoutSeconds = 15;

/**
 * Time-out of the function status in seconds: a request may wait there for 20 s, and 5 s remain for its calls to AWS.
 */
export const statusTimeoutSeconds = 25;

/** Time-out of the worker functions in seconds, the maximum of Lambda. A task type's time-out is at most 840 s. */
export const workerTimeoutSeconds = 900;

/** Batch size of the workers: the maximum of SQS without a batching window. */
export const workerBatchSize = 10;

/** Default maximums of concurrent worker invocations: together half of an account's usual 1,000. */
export const defaultConcurrency: PerTier<number> = { critical: 200, high: 150, normal: 100, low: 50 };

/** Default rate limits of the API. */
export const defaultThrottle = { requestsPerSecond: 500, burst: 1_000 } as const;
