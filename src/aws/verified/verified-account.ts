import type { Tier } from "../../core/model/words.ts";

/** Facts about a deployment in an AWS account. */
export interface AccountFacts {
  readonly accountId: string;
  readonly region: string;
  /** Name of the deployment, such as `Offload-dev`. */
  readonly deployment: string;
  readonly stage: string;
  readonly url: string;
  readonly table: string;
  /** Functions send spans to X-Ray. */
  readonly isTraced: boolean;
  /** Cluster and service of the container workers. Undefined: there are none. */
  readonly containers: { readonly cluster: string; readonly service: string } | undefined;
  /** Log groups of all functions, and of the workers by tier. */
  readonly logGroups: readonly string[];
  readonly workerLogs: Readonly<Record<Tier, string>>;
}

/** A saved query of Logs Insights. */
export interface SavedQuery {
  readonly name: string;
  readonly text: string;
  readonly logGroups: readonly string[];
}

/** The answer to a query of Logs Insights. */
export interface QueryAnswer {
  readonly rows: readonly Readonly<Record<string, string>>[];
  readonly bytes: number;
}

/** A message in the DLQ of schedules. */
export interface DeadFiring {
  readonly body: string;
  /** Names of its attributes. */
  readonly attributes: readonly string[];
}

/** The requests of the checks to the AWS account of a deployment. */
export interface VerifiedAccount {
  readonly facts: AccountFacts;
  /** The one-off schedule of a task: its name and expression. Undefined: it has none. */
  oneOffOf(taskId: string): Promise<{ name: string; expression: string } | undefined>;
  /** Points a one-off schedule at a function that does not exist. */
  breakOneOff(name: string): Promise<void>;
  /** Creates a schedule as those in code are, which fires once, at a function that does not exist. */
  createBroken(name: string, atMs: number): Promise<void>;
  /** Deletes a schedule of the deployment. Does nothing when it does not exist. */
  deleteSchedule(name: string): Promise<void>;
  /** Receives the message of a firing from the DLQ of schedules, and deletes it. Undefined: it is not there. */
  takeDeadFiring(name: string): Promise<DeadFiring | undefined>;
  /** Sends the function of schedules an input, as EventBridge Scheduler does, and does not wait for its end. */
  fireWith(input: string): Promise<void>;
  savedQueries(): Promise<SavedQuery[]>;
  /** Runs a query of Logs Insights over the lines since a time, to its end. */
  query(query: Omit<SavedQuery, "name">, sinceMs: number): Promise<QueryAnswer>;
  /** Invocations and time of the deployment's functions since a time, by Lambda's metrics: without their starts. */
  usage(sinceMs: number): Promise<{ invocations: number; gbSeconds: number }>;
  /** Number of segments that X-Ray has of a trace. */
  segmentsOf(traceId: string): Promise<number>;
  /** Number of containers that the service wants, and that run. */
  containers(): Promise<{ desired: number; running: number }>;
  close(): void;
}
