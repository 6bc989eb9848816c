/**
 * True for zod's refusal to parse with an async schema at once, also of another copy of zod. Its class has another name
 * in a bundle.
 */
export const isAsyncError = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("Encountered Promise during synchronous parse");
