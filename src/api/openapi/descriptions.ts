import "./problems.ts";
import "./answers.ts";
import "./bulk-answers.ts";
import "./schedule-answers.ts";
import "./type-answers.ts";
import "./admin-answers.ts";
import "./part-answers.ts";
import "./webhook-answers.ts";
import { files as acts } from "../acts/index.ts";
import type { ApiRouteName } from "../http/routes.ts";
import { serviceTexts, tenantTexts } from "./admin-texts.ts";
import { letterTexts, operationTexts } from "./bulk-texts.ts";
import { describedActs } from "./describe.ts";
import type { Description } from "./route-text.ts";
import { scheduleTexts } from "./schedule-texts.ts";
import { taskTexts } from "./task-texts.ts";
import { webhookTexts } from "./webhook-texts.ts";

/** The description of every route in `src/api/http/routes.ts` that programs call, by the same names. */
export const descriptions: Readonly<Record<ApiRouteName, Description>> = {
  ...describedActs("tasks", acts.tasks),
  ...describedActs("tasks", acts.rareTasks),
  ...describedActs("webhooks", acts.webhooks),
  ...describedActs("operations", acts.running),
  ...describedActs("flow", acts.queues),
  ...describedActs("flow", acts.types),
  ...describedActs("tenants", acts.tenants),
  ...describedActs("tenants", acts.keys),
  ...describedActs("schedules", acts.schedules),
  ...taskTexts,
  ...scheduleTexts,
  ...letterTexts,
  ...operationTexts,
  ...webhookTexts,
  ...serviceTexts,
  ...tenantTexts,
};
