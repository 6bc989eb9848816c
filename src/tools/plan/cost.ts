import { tiers } from "../../core/model/words.ts";
import { containerAlarms, containerCost } from "./containers.ts";
import { familyLoad } from "./families.ts";
import { hoursPerMonth, idlePolls, type PriceName, type Prices, prices, secondsPerMonth } from "./figures.ts";
import { blockedKeysCost, lineLoad } from "./limited.ts";
import { noticeLoad, noticeMetrics, requestsPerNotice } from "./notices.ts";
import { bytesKept, objectLoad } from "./objects.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import { stepLoad } from "./steps.ts";
import { waitLoad } from "./waits.ts";
import { writeUnits } from "./write-units.ts";

/** One line of the bill, in US dollars. */
export interface CostLine {
  what: string;
  perMonth: number;
}

/** Cost of a scenario: variable costs, which depend on the tasks, and fixed costs per month. */
export interface Cost {
  /** The API and its functions, which every service behind an HTTP API needs. */
  front: CostLine[];
  /** Queue, record, workers, logs. */
  work: CostLine[];
  /** Costs that do not depend on the number of tasks. */
  fixed: CostLine[];
  perMonth: number;
  /** Without fixed costs. */
  perMillionTasks: number;
  tasksPerMonth: number;
}

/** SQS charges each 64 KB as a request, API Gateway each 512 KB. */
const queueChunkBytes = 64 * 1024;
const gatewayChunkBytes = 512 * 1024;

/** Charged requests for these bytes. */
const chunks = (bytes: number, chunkBytes: number): number => Math.max(1, Math.ceil(bytes / chunkBytes));

/** The queues that an event source polls: one for each tier, and those of redrive, of firings and of notices. */
const polledQueues = tiers.length + 3;

const gb = 1e9;
const gigabytesOf = (megabytes: number) => megabytes / 1024;

/**
 * Prices of a scenario: the list prices, overridden by its own. The access log costs half of other logs, also where the
 * scenario has only the price of those.
 */
export function pricesOf(scenario: Scenario): Prices {
  const { logs } = scenario.prices;
  const own = { ...(logs !== undefined && { requestLogs: logs / 2 }), ...scenario.prices };
  const names = Object.keys(prices) as PriceName[];
  return Object.fromEntries(names.map((name) => [name, own[name] ?? prices[name].value])) as Prices;
}

/** Calculates the monthly cost, assuming that the simulated load repeats. */
export function costOf(scenario: Scenario, outcome: Outcome): Cost {
  const months = (scenario.hours * 3_600) / secondsPerMonth;
  const scaled = (lines: CostLine[]) => lines.map(({ what, perMonth }) => ({ what, perMonth: perMonth / months }));
  const front = scaled(frontLines(scenario, outcome));
  const work = scaled([...workLines(scenario, outcome), ...noticeLines(scenario, outcome)]).concat(
    storage(scenario, outcome, months),
    objectStorage(scenario, outcome, months),
  );
  const fixed = fixedLines(scenario, outcome);
  const sum = (lines: CostLine[]) => lines.reduce((total, line) => total + line.perMonth, 0);
  const tasksPerMonth = tasksOf(outcome) / months;
  const busy = sum(front) + sum(work);
  return {
    front,
    work,
    fixed,
    tasksPerMonth,
    perMonth: busy + sum(fixed),
    perMillionTasks: tasksPerMonth === 0 ? 0 : (busy / tasksPerMonth) * 1e6,
  };
}

export const tasksOf = (outcome: Outcome): number => outcome.tiers.reduce((sum, tier) => sum + tier.tasks, 0);

/**
 * Cost of submits, announced files, polls and requests that wait: the gateway and two functions for each request, one
 * of them the authorizer. A batch is one request; its log has lines for each of its tasks.
 */
export function frontLines(scenario: Scenario, outcome: Outcome): CostLine[] {
  const price = pricesOf(scenario);
  const { overhead, apiMemoryMb, pollsPerTask } = scenario;
  const tasks = outcome.traffic.submits.total;
  const submits = outcome.traffic.accepted;
  const polls = tasks * pollsPerTask;
  const { uploads } = objectLoad(scenario, outcome);
  const waits = waitLoad(scenario, outcome);
  const uploadSeconds = (uploads * (overhead.submitMs + overhead.authorizerMs)) / 1000;
  const reads = polls + waits.requests;
  const seconds = submits.seconds + uploadSeconds + (reads * (overhead.statusMs + overhead.authorizerMs)) / 1000;
  const requests = submits.requests + reads + uploads;
  const bytes = submits.requests === 0 ? 0 : (tasks / submits.requests) * scenario.messageBytes;
  const logBytes =
    (tasks - submits.batchTasks) * overhead.submitLogBytes + submits.batchTasks * overhead.batchTaskLogBytes;
  const charged = submits.requests * chunks(bytes, gatewayChunkBytes) + reads + uploads;
  return [
    { what: "API Gateway", perMonth: (charged * price.httpApiRequests) / 1e6 },
    {
      what: "Lambda: submit, status, authorizer",
      perMonth:
        (2 * requests * price.lambdaRequests) / 1e6 + seconds * gigabytesOf(apiMemoryMb) * price.lambdaGbSeconds,
    },
    {
      what: "logs of requests",
      perMonth:
        (requests * overhead.requestLogBytes * price.requestLogs +
          (requests * 2 * overhead.invocationLogBytes + logBytes) * price.logs) /
        gb,
    },
    { what: "DynamoDB: polls", perMonth: (polls * 0.5 * price.tableReads) / 1e6 },
    {
      what: "Lambda: requests that wait",
      perMonth: waits.seconds * gigabytesOf(apiMemoryMb) * price.lambdaGbSeconds,
    },
    {
      what: "DynamoDB: requests that wait",
      perMonth: (waits.tableReads * price.tableReads + waits.tableWrites * price.tableWrites) / 1e6,
    },
  ];
}

function workLines(scenario: Scenario, outcome: Outcome): CostLine[] {
  const price = pricesOf(scenario);
  const { overhead, workerMemoryMb } = scenario;
  const { invocations, attempts, busySeconds } = totalsOf(outcome);
  const family = familyLoad(scenario, outcome);
  const objects = objectLoad(scenario, outcome);
  const steps = stepLoad(scenario, outcome);
  const lines = lineLoad(scenario, outcome);
  const seconds = busySeconds + family.seconds + steps.seconds + lines.seconds;
  const started = invocations + family.closings + steps.resumed + lines.resumed;
  return [
    { what: "DynamoDB: reads of children", perMonth: (family.reads * price.tableReads) / 1e6 },
    { what: "DynamoDB: reads of steps", perMonth: (steps.reads * price.tableReads) / 1e6 },
    { what: "DynamoDB: reads of lines", perMonth: (lines.reads * price.tableReads) / 1e6 },
    { what: "DynamoDB: writes", perMonth: (writesOf(scenario, outcome) * price.tableWrites) / 1e6 },
    { what: "S3: requests", perMonth: (objects.puts * price.objectWrites + objects.gets * price.objectReads) / 1e6 },
    { what: "SQS", perMonth: (queueRequestsOf(scenario, outcome) * price.queueRequests) / 1e6 },
    {
      what: "Lambda: workers",
      perMonth: (started * price.lambdaRequests) / 1e6 + seconds * gigabytesOf(workerMemoryMb) * price.lambdaGbSeconds,
    },
    { what: "EventBridge Scheduler", perMonth: (outcome.traffic.firings.total * price.schedules) / 1e6 },
    {
      what: "logs of workers",
      perMonth:
        ((attempts * overhead.attemptLogBytes +
          started * (overhead.batchLogBytes + overhead.invocationLogBytes) +
          family.logBytes) *
          price.logs) /
        gb,
    },
  ];
}

/** Cost of webhooks, events and push. Services that replace Offload need the same. */
export function noticeLines(scenario: Scenario, outcome: Outcome): CostLine[] {
  const price = pricesOf(scenario);
  const { notices, longWaits, events, pushed, reads, writes, seconds, logBytes } = noticeLoad(scenario, outcome);
  const minutes = scenario.push.connections * scenario.hours * 60;
  const perMillion = (what: string, dollars: number): CostLine => ({ what, perMonth: dollars / 1e6 });
  return [
    perMillion("SQS: notices", notices * requestsPerNotice * price.queueRequests),
    {
      what: "Lambda: notify",
      perMonth:
        ((notices + longWaits) * price.lambdaRequests) / 1e6 +
        seconds * (scenario.apiMemoryMb / 1024) * price.lambdaGbSeconds,
    },
    perMillion("DynamoDB: notices", reads * price.tableReads + writes * price.tableWrites),
    perMillion("EventBridge: events, late tries", events * price.events + longWaits * price.schedules),
    perMillion("API Gateway: channels", pushed * price.channelMessages + minutes * price.channelMinutes),
    { what: "logs of notices", perMonth: (logBytes * price.logs) / 1e9 },
  ];
}

const totalsOf = ({ tiers }: Outcome) => {
  const sum = (field: "invocations" | "attempts" | "busySeconds" | "sends" | "sendCalls" | "dead") =>
    tiers.reduce((total, tier) => total + tier[field], 0);
  return {
    invocations: sum("invocations"),
    attempts: sum("attempts"),
    busySeconds: sum("busySeconds"),
    sends: sum("sends"),
    sendCalls: sum("sendCalls"),
    dead: sum("dead"),
  };
};

/**
 * Write units of submit, claim and settle, of steps, of lines and of families. A dead letter adds its stored envelope,
 * two index writes and a final update.
 */
function writesOf(scenario: Scenario, outcome: Outcome): number {
  const { submitWrites, attemptWrites } = writeUnits(scenario);
  const { attempts, dead } = totalsOf(outcome);
  const envelope = Math.ceil(scenario.messageBytes / 1024);
  const finalUpdate = Math.ceil(scenario.overhead.settledRecordBytes / 1024);
  return (
    tasksOf(outcome) * submitWrites +
    attempts * attemptWrites +
    dead * (envelope + 1 + finalUpdate) +
    outcome.traffic.schedules.total * envelope +
    familyLoad(scenario, outcome).writes +
    stepLoad(scenario, outcome).writes +
    lineLoad(scenario, outcome).writes +
    objectLoad(scenario, outcome).tableWrites
  );
}

/**
 * SQS requests: a send for each message, or for up to ten of a batch of submits; for each batch of a worker one
 * receive, one delete and one change of visibility.
 */
function queueRequestsOf(scenario: Scenario, outcome: Outcome): number {
  const { sends, sendCalls, dead, invocations, attempts } = totalsOf(outcome);
  const { closings } = familyLoad(scenario, outcome);
  const charged = (messages: number) => chunks(messages * scenario.messageBytes, queueChunkBytes);
  const perSend = sendCalls === 0 ? 0 : sends / sendCalls;
  const perBatch = invocations === 0 ? 0 : attempts / invocations;
  return (
    sendCalls * charged(perSend) +
    dead * charged(1) +
    invocations * (charged(perBatch) + 2) +
    closings * (2 * charged(1) + 2) +
    stepLoad(scenario, outcome).queueRequests +
    lineLoad(scenario, outcome).queueRequests
  );
}

/** Storage cost of the records and index entries that are kept at the same time. */
function storage(scenario: Scenario, outcome: Outcome, months: number): CostLine {
  const price = pricesOf(scenario);
  const { overhead, retentionDays } = scenario;
  const kept = (tasksOf(outcome) / months) * ((retentionDays * 24) / hoursPerMonth);
  const entryBytes = (scenario.steps.perTask + scenario.steps.sleeps) * overhead.stepBytes;
  const bytes = kept * (overhead.settledRecordBytes + overhead.indexEntryBytes + entryBytes);
  return { what: "DynamoDB: storage and backup", perMonth: (bytes * (price.tableStorage + price.tableBackup)) / gb };
}

/** Cost of storing files and large results for a month. */
export const objectStorage = (scenario: Scenario, outcome: Outcome, months: number): CostLine => ({
  what: "S3: storage",
  perMonth: (bytesKept(scenario, outcome, months) * pricesOf(scenario).objectStorage) / gb,
});

/**
 * Empty polls, provisioned pollers, containers of tasks that the simulation does not have, alarms, dashboards, and
 * metrics, which AWS charges only for hours with tasks.
 */
function fixedLines(scenario: Scenario, outcome: Outcome): CostLine[] {
  const price = pricesOf(scenario);
  const polls = (polledQueues * idlePolls.pollers * secondsPerMonth) / idlePolls.secondsPerPoll;
  const metrics = scenario.metrics + noticeMetrics(scenario);
  const pollers = tiers.reduce((sum, tier) => sum + (scenario.tiers[tier]?.provisionedPollers?.minimum ?? 0), 0);
  return [
    { what: "SQS: empty polls", perMonth: (polls * price.queueRequests) / 1e6 },
    { what: "provisioned pollers", perMonth: pollers * hoursPerMonth * price.pollerHours },
    { what: "looks at blocked keys", perMonth: blockedKeysCost(scenario, price) },
    { what: "Fargate: container workers", perMonth: containerCost(scenario, price) },
    { what: "alarms", perMonth: (scenario.alarms + containerAlarms(scenario)) * price.alarms },
    { what: "dashboards", perMonth: scenario.dashboards * price.dashboards },
    { what: "metrics", perMonth: tasksOf(outcome) === 0 ? 0 : metrics * price.metrics },
  ];
}
