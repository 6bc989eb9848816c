import * as z from "zod";

const name = z.string().regex(/^[0-9a-zA-Z-_.]{1,64}$/);

const target = z.looseObject({
  Arn: z.string().min(1).max(1600),
  RoleArn: z.string().min(1).max(1600),
  Input: z.string().min(1).optional(),
  RetryPolicy: z
    .object({
      MaximumEventAgeInSeconds: z.int().min(60).max(86_400).optional(),
      MaximumRetryAttempts: z.int().min(0).max(185).optional(),
    })
    .optional(),
  DeadLetterConfig: z.object({ Arn: z.string().min(1).optional() }).optional(),
});

/** Body of CreateSchedule and UpdateSchedule, with the name from the path. Dates are epoch seconds. */
const scheduleInput = z.object({
  Name: name,
  GroupName: name.default("default"),
  ScheduleExpression: z.string().min(1).max(256),
  ScheduleExpressionTimezone: z.string().min(1).max(50).default("UTC"),
  StartDate: z.number().optional(),
  EndDate: z.number().optional(),
  Description: z.string().max(512).optional(),
  State: z.enum(["ENABLED", "DISABLED"]).default("ENABLED"),
  KmsKeyArn: z.string().optional(),
  Target: target,
  FlexibleTimeWindow: z.object({
    Mode: z.enum(["OFF", "FLEXIBLE"]),
    MaximumWindowInMinutes: z.int().min(1).max(1440).optional(),
  }),
  ActionAfterCompletion: z.enum(["NONE", "DELETE"]).default("NONE"),
  ClientToken: z.string().optional(),
});

export type ScheduleInput = z.output<typeof scheduleInput>;
export type Target = ScheduleInput["Target"];

/** An error answer. `code` is the name of the SDK's exception. */
export class ApiError extends Error {
  readonly code: "ConflictException" | "ResourceNotFoundException" | "ValidationException";

  constructor(code: ApiError["code"], message: string) {
    super(message);
    this.name = "ApiError";
    this.code = code;
  }

  get status(): number {
    return { ConflictException: 409, ResourceNotFoundException: 404, ValidationException: 400 }[this.code];
  }
}

/** @throws ApiError */
export function parseSchedule(body: unknown): ScheduleInput {
  return parse(scheduleInput, body);
}

/** @throws ApiError */
export function parseName(value: unknown): string {
  return parse(name, value);
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ApiError("ValidationException", `${issues.length} validation error detected: ${issues.join("; ")}`);
}
