/** Requests that change nothing, or that programs send in the course of their work. */
const unrecorded: ReadonlySet<string> = new Set(["openChannel", "acknowledgeTask", "signalTask"]);

/** True when the audit has the route's requests that change something. */
export const isRecorded = (route: string): boolean => !unrecorded.has(route);
