import * as z from "zod";
import { busNameOf, type EventLog } from "./event-log.ts";

/** EventBridge's limits of a request. */
const maxEntries = 10;
const maxBytes = 256 * 1024;

const entrySchema = z.object({
  Time: z.number().optional(),
  Source: z.string().max(256).optional(),
  Resources: z.array(z.string().max(2048)).optional(),
  DetailType: z.string().max(128).optional(),
  Detail: z.string().optional(),
  EventBusName: z.string().min(1).max(1600).optional(),
  TraceHeader: z.string().min(1).max(500).optional(),
});

type Entry = z.output<typeof entrySchema>;

/** A refused request, with AWS's code. */
export class EventsError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const invalid = (message: string) => new EventsError("ValidationException", message);

type Result = { EventId: string } | { ErrorCode: string; ErrorMessage: string };

/**
 * Handles a request of PutEvents. Entries that are not valid are refused one by one, as EventBridge does.
 * @throws EventsError
 */
export function putEvents(log: EventLog, body: unknown): { FailedEntryCount: number; Entries: Result[] } {
  const given = (body as { Entries?: unknown } | null)?.Entries;
  if (!Array.isArray(given) || given.length === 0 || given.length > maxEntries) {
    const bound = Array.isArray(given) && given.length > 0 ? "less than or equal to 10" : "greater than or equal to 1";
    throw invalid(
      `1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length ${bound}`,
    );
  }
  const entries = given.map((entry, index) => {
    const parsed = entrySchema.safeParse(entry);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw invalid(
      `1 validation error detected: Value at 'entries.${index + 1}.member.${issue?.path.join(".")}' ${issue?.message}`,
    );
  });
  if (entries.reduce((sum, entry) => sum + bytesOf(entry), 0) >= maxBytes) {
    throw invalid("Total size of the entries in the request is over the limit.");
  }
  const Entries = entries.map((entry) => resultOf(log, entry));
  return { FailedEntryCount: Entries.filter((result) => "ErrorCode" in result).length, Entries };
}

/** Size of an entry as EventBridge counts it. */
const bytesOf = ({ Time, Source = "", DetailType = "", Detail = "", Resources = [] }: Entry): number =>
  (Time === undefined ? 0 : 14) +
  [Source, DetailType, Detail, ...Resources].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

function resultOf(log: EventLog, entry: Entry): Result {
  const missing = (["Source", "DetailType", "Detail"] as const).find((name) => (entry[name] ?? "") === "");
  if (missing !== undefined) {
    return refused("InvalidArgument", `Parameter ${missing} is not valid. Reason: ${missing} is a required argument.`);
  }
  const { Source = "", DetailType = "", Detail = "", Time, Resources, EventBusName = "default" } = entry;
  if (Source.startsWith("aws.")) return refused("NotAuthorizedForSourceException", "Not authorized for the source.");
  const detail = parseObject(Detail);
  if (detail === undefined) return refused("MalformedDetail", "Detail is malformed.");
  const time = Time === undefined ? undefined : new Date(Time * 1000).toISOString();
  const event = { source: Source, "detail-type": DetailType, detail, time, resources: Resources };
  try {
    return { EventId: log.put(event, busNameOf(EventBusName)) };
  } catch (error) {
    return refused("InternalFailure", String(error));
  }
}

const refused = (ErrorCode: string, ErrorMessage: string): Result => ({ ErrorCode, ErrorMessage });

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
