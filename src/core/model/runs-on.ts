/**
 * The places where attempts of a task type run: in a worker function, or in a container worker (`npx offload work`).
 */
export const runsOnPlaces = ["function", "container"] as const;
export type RunsOn = (typeof runsOnPlaces)[number];

/**
 * Longest time-out of one attempt, in seconds. A function has 900 s for an attempt with all that belongs to it; SQS
 * holds a message for 12 hours.
 */
export const longestTimeoutSeconds: Readonly<Record<RunsOn, number>> = { function: 840, container: 43_200 };

/** Longest work of a container worker on one message, in seconds: the longest attempt, with what belongs to it. */
export const containerWorkSeconds = longestTimeoutSeconds.container + 600;
