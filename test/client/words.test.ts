import { expect, expectTypeOf, test } from "vitest";
import type * as z from "zod";
import type { auditListSchema } from "../../src/api/http/audit.ts";
import type { replayDeliveriesSchema } from "../../src/api/http/receiver-routes.ts";
import type { AuditFilter } from "../../src/client/audit-calls.ts";
import type { SubscribeOptions } from "../../src/client/push.ts";
import type { Receivers } from "../../src/client/receiver-calls.ts";
import type { UniqueOptions } from "../../src/client/submit-options.ts";
import { uniqueModes } from "../../src/core/model/idempotency.ts";
import type { channelSchema } from "../../src/core/notify/open-channel.ts";
import type { submitFields } from "../../src/core/pipeline/submit/submit-body.ts";
import type { UniqueOptions as OfHandlers } from "../../src/core/task/handler-submit.ts";

/* The client writes the words of a request out, for its readers. The compiler compares them with the schemas. */

type Input<Schema extends z.ZodType, Field extends keyof z.input<Schema>> = NonNullable<z.input<Schema>[Field]>;
type ReplayFilter = NonNullable<Parameters<Receivers["replay"]>[1]>;

test("the words of requests are those of the schemas", () => {
  type Mode = NonNullable<Input<z.ZodObject<typeof submitFields>, "unique">["mode"]>;
  expectTypeOf<NonNullable<UniqueOptions["mode"]>>().toEqualTypeOf<Mode>();
  expectTypeOf<NonNullable<OfHandlers["mode"]>>().toEqualTypeOf<Mode>();
  expect(new Set<Mode>(uniqueModes).size).toBe(uniqueModes.length);
  expectTypeOf<NonNullable<SubscribeOptions["scope"]>>().toEqualTypeOf<Input<typeof channelSchema, "scope">>();
  expectTypeOf<NonNullable<AuditFilter["scope"]>>().toEqualTypeOf<Input<typeof auditListSchema, "scope">>();
  expectTypeOf<NonNullable<ReplayFilter["status"]>>().toEqualTypeOf<Input<typeof replayDeliveriesSchema, "status">>();
});
