/** The part of an error answer that does not depend on the service. */
interface Refusal {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** An error that AWS answered. `name` is its code. */
export class AwsError extends Error {
  readonly $fault: "client" | "server";
  readonly $metadata: { httpStatusCode: number; requestId: string | undefined };
  /** Time that the answer asks to wait, in milliseconds. Undefined: it asks for none. */
  readonly retryAfterMs: number | undefined;
  /** Time of the answer by AWS's clock, in epoch milliseconds. Undefined: the answer had no valid date. */
  readonly answeredAtMs: number | undefined;

  constructor(name: string, message: string, { statusCode, headers }: Refusal) {
    super(message);
    this.name = name;
    this.$fault = statusCode >= 500 ? "server" : "client";
    this.$metadata = { httpStatusCode: statusCode, requestId: headers["x-amzn-requestid"] };
    const seconds = Number.parseFloat(headers["retry-after"] ?? "");
    this.retryAfterMs = seconds > 0 ? seconds * 1000 : undefined;
    this.answeredAtMs = Date.parse(headers.date ?? "") || undefined;
  }
}

/** Error classes by code. */
export type ErrorClasses = Readonly<Record<string, typeof AwsError>>;

/**
 * The code is in the answer, as `com.amazonaws.sqs#QueueDoesNotExist`, or in a header, as
 * `ConflictException:http://...`.
 */
export function errorOf(refusal: Refusal, text: string, classes: ErrorClasses | undefined): AwsError {
  const answer = fieldsOf(text);
  const given = String(refusal.headers["x-amzn-errortype"] ?? answer.__type ?? answer.code ?? "UnknownError");
  const name = given.split(":")[0]?.split("#").at(-1) ?? given;
  const message = String(answer.message ?? answer.Message ?? name);
  const Class = classes?.[name] ?? AwsError;
  return new Class(name, message, refusal);
}

/** Fields of an error answer. A text that is not JSON, for example a proxy's answer, has none. */
function fieldsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
