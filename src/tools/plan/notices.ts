import { waitsSeconds } from "../../core/notify/deliver.ts";
import { limits } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";

/** SQS requests of a notice that comes alone: send, receive, delete. */
export const requestsPerNotice = 3;

/**
 * Read units of a try: the delivery and the version of the secret, and an eventually consistent read of the mark of a
 * slow host.
 */
const readsPerTry = 2.5;
/** Write units of a try: the delivery has up to 2 KB. */
const writesPerTry = 2;

/**
 * A receiver that answers later than this is slow, in ms: each try then takes a place and renews the host's mark, a
 * write unit each.
 */
const slowAfterMs = 1_000;
const slowWrites = 2;
/** Tries in a second to a slow host of a tenant: ten places for ten seconds. */
export const slowTriesPerSecond = 1;

/** Read units of the two marks that say whether a channel is open. */
const marks = 2;

/** Load of webhooks, events and push. Each is 0 for tasks that nothing outside hears of. */
export interface NoticeLoad {
  /** Messages to the notify queue. Each is an invocation of its own. */
  notices: number;
  tries: number;
  /** Tries that wait for longer than SQS can delay: a one-off schedule and an invocation of fire each. */
  longWaits: number;
  gaveUp: number;
  events: number;
  pushed: number;
  reads: number;
  writes: number;
  seconds: number;
  logBytes: number;
}

export function noticeLoad(scenario: Scenario, { traffic }: Outcome): NoticeLoad {
  const { webhooks, events, push, overhead } = scenario;
  const ends = traffic.created.total;
  const tasks = traffic.submits.total;
  const sent = tasks * webhooks.share;
  const tries = sent * triesPerWebhook(webhooks.failShare);
  const heard = tasks * push.share;
  const heardEnds = events ? ends : tasks * (1 - (1 - webhooks.share) * (1 - push.share));
  const changes = heard * Math.max(0, push.messagesPerTask - 1);
  const longWaits = sent * longWaitsPerWebhook(webhooks.failShare);
  const gaveUp = sent * webhooks.failShare ** (waitsSeconds.length + 1);
  const pushed = heard * push.messagesPerTask;
  const isPush = push.share > 0 || push.connections > 0;
  // An end that is told in any case does not ask for channels first. The function notify asks for each notice.
  const asked = isPush ? (events ? 0 : ends - sent) + heardEnds + changes : 0;
  const notices = heardEnds + changes + (tries - sent);
  const slow = webhooks.receiverMs > slowAfterMs ? slowWrites : 0;
  return {
    ...{ notices, tries, longWaits, gaveUp, pushed },
    events: events ? ends : 0,
    reads: tries * readsPerTry + asked * marks + pushed,
    // A webhook that is given up has an entry in the index of its tenant's failed webhooks.
    writes: tries * (writesPerTry + slow) + gaveUp,
    seconds: ((notices + longWaits) * overhead.noticeMs + tries * (overhead.tryMs + webhooks.receiverMs)) / 1000,
    logBytes: tries * overhead.tryLogBytes + (notices + longWaits) * overhead.invocationLogBytes,
  };
}

/** Average number of tries: each failed try is followed by another, up to the last. */
const triesPerWebhook = (failShare: number): number =>
  waitsSeconds.reduce((sum, _, index) => sum + failShare ** (index + 1), 1);

const longWaitsPerWebhook = (failShare: number): number =>
  waitsSeconds.reduce((sum, wait, index) => sum + (wait > limits.delaySeconds.value ? failShare ** (index + 1) : 0), 0);

/** Metrics of webhooks, which are charged while there are any. */
export const noticeMetrics = ({ webhooks }: Scenario): number => (webhooks.share > 0 ? 4 : 0);

/** Tries in a second to the slow receiver of the busiest tenant. Undefined: receivers are not slow. */
export function slowTries({ webhooks, busiestTenantShare }: Scenario, { traffic }: Outcome): number | undefined {
  if (webhooks.share === 0 || webhooks.receiverMs <= slowAfterMs) return undefined;
  return traffic.submits.sustained * webhooks.share * busiestTenantShare;
}
