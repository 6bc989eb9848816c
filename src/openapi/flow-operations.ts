import { limitsChangeSchema, rateSchema, typePauseSchema } from "../http/flow.ts";
import type { AnyRouteName } from "../http/routes.ts";
import * as answers from "./flow-answers.ts";
import { withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import { bodyProblems, emptyBody, jsonProblems, uncached } from "./operation-parts.ts";

const pauseText =
  "Accepted tasks wait, in order of submission, and running attempts finish. The answer comes when no worker starts another of these tasks, after " +
  "about three seconds. The request can be repeated.";
const resumeText =
  "The tasks that wait start within about three seconds, in order of submission: ten a second at first, twice as many every three seconds, and " +
  "a hundred a second at most; of a tier, twice as many every thirty seconds then, up to 2,000. The request can be repeated.";

withName("RateChange", rateSchema);

const ofNothing = { body: emptyBody, bodyOptional: true, problems: [...bodyProblems, "not_found"] } as const;
const ofType = {
  role: "operator",
  body: withName("TypePauseRequest", typePauseSchema),
  bodyOptional: true,
  problems: [...bodyProblems, "not_found"],
} as const;

/** The routes of pauses and limits. */
export const flowOperations = {
  pauseQueue: {
    tag: "flow",
    summary: "Pause a tier",
    description: pauseText,
    role: "admin",
    ...ofNothing,
    answers: { 200: uncached("The tier is paused.", answers.queuePause) },
  },
  resumeQueue: {
    tag: "flow",
    summary: "Resume a tier",
    description: resumeText,
    role: "admin",
    ...ofNothing,
    answers: { 200: uncached("The tier is not paused.", answers.queuePause) },
  },
  recoverLetters: {
    tag: "dead letters",
    summary: "Recover the dead letters of a tier whose records are gone",
    description:
      "Compares the messages of the tier's DLQ with the tasks, within some seconds. If a message's task has no record, for example after the table was " +
      "restored to an earlier time, the message becomes a dead letter of the list again: it can be replayed and discarded. A message " +
      "whose task is not a dead letter any more is deleted. Offload does the same once a day.",
    role: "admin",
    ...ofNothing,
    answers: { 202: uncached("The comparison will start.", answers.queueRecovery) },
  },
  pauseType: {
    tag: "flow",
    summary: "Pause a task type",
    description: `Pauses the type for the caller's tenant, or with \`all\` for all tenants, which requires the role admin. ${pauseText}`,
    ...ofType,
    answers: { 200: uncached("The pauses of the type.", answers.typePause) },
  },
  resumeType: {
    tag: "flow",
    summary: "Resume a task type",
    description:
      "Ends the pause for the caller's tenant, or with `all` the one for all tenants, which requires the role admin. The other pause " +
      `stays. ${resumeText}`,
    ...ofType,
    answers: { 200: uncached("The pauses of the type that stay.", answers.typePause) },
  },
  closeBreaker: {
    tag: "flow",
    summary: "Close the breaker of a task type",
    description: `Closes the breaker for the caller's tenant. An admin closes it for all tenants with \`tenant=*\`. The breaker counts failures from 0 again. ${resumeText}`,
    role: "operator",
    ...ofNothing,
    answers: { 200: uncached("The breaker, closed.", answers.typeBreaker) },
    problems: [...bodyProblems, "not_found", "conflict"],
  },
  changeLimits: {
    tag: "flow",
    summary: "Change the limits of a task type",
    description:
      "Changes the limits for all tenants, without a deployment. Every worker uses them after about three seconds. A limit that is left out stays as " +
      "it is; null restores the limit of the type's definition. If the definition has no limit, the new limit is shared by all tasks of the type, " +
      "of all tenants, and null removes it.",
    role: "admin",
    body: withName("LimitsChange", limitsChangeSchema),
    example: { concurrency: 5, rate: { limit: 100, per_seconds: 60 } },
    answers: { 200: uncached("The limits in force.", answers.typeLimits) },
    problems: [...jsonProblems, "not_found"],
  },
  pauseTenant: {
    tag: "flow",
    summary: "Pause a tenant",
    description: `Pauses all tasks of the tenant. Only an admin may name another tenant than its own. ${pauseText}`,
    role: "operator",
    ...ofNothing,
    answers: { 200: uncached("The tenant is paused.", answers.tenantPause) },
  },
  resumeTenant: {
    tag: "flow",
    summary: "Resume a tenant",
    description: `Pauses of types and tiers stay. Only an admin may name another tenant than its own. ${resumeText}`,
    role: "operator",
    ...ofNothing,
    answers: { 200: uncached("The tenant is not paused.", answers.tenantPause) },
  },
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
