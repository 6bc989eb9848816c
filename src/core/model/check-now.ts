import type * as z from "zod";
import { ZodError } from "zod";

/**
 * True for zod's refusal to parse with an async schema at once, also of another copy of zod. Its class has another name
 * in a bundle.
 */
export const isAsyncError = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("Encountered Promise during synchronous parse");

/**
 * The result of a check that cannot wait. The worker awaits an async schema before the first attempt; here it lets
 * every value pass.
 */
export function checkNow(schema: z.ZodType, value: unknown): z.ZodSafeParseResult<unknown> {
  try {
    return schema.safeParse(value);
  } catch (cause) {
    if (isAsyncError(cause)) return { success: true, data: value };
    const message = `its schema threw an error: ${cause instanceof Error ? cause.message : String(cause)}`;
    return { success: false, error: new ZodError([{ code: "custom", path: [], message, input: value }]) };
  }
}
