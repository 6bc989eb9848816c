/** Reads of what signs webhooks: its holder can forge them. */
const revealing: ReadonlySet<string> = new Set(["readWebhookSecret"]);

/** Requests that change nothing, or that programs send in the course of their work. */
const unrecorded: ReadonlySet<string> = new Set(["openChannel", "acknowledgeTask", "signalTask"]);

/** True when the audit has the route's requests that change something. */
export const isRecorded = (method: string, route: string): boolean =>
  method === "GET" ? revealing.has(route) : !unrecorded.has(route);
