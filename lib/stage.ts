import { RemovalPolicy } from "aws-cdk-lib";
import { settingError } from "./setting-error.ts";

/** True for a deployment that keeps its data: by default every stage but `dev`. */
export const isProtected = (stage: string, dataProtection = stage !== "dev"): boolean => dataProtection;

/**
 * Removal policy of data and logs. What a first deployment creates before it fails is deleted, so that it can be
 * repeated.
 */
export const removalPolicyOf = (keepsData: boolean): RemovalPolicy =>
  keepsData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

const stagePattern = /^[a-z][a-z0-9-]{0,19}$/;

/** @throws TypeError when a stage's name cannot be part of a stack's name */
export function checkStage(stage: string): void {
  if (stagePattern.test(stage)) return;
  throw settingError(
    `stage must be 1 to 20 lower case letters, digits and '-', starting with a letter, got ${JSON.stringify(stage)}`,
  );
}

/** Receivers of alarms. */
interface AlarmReceivers {
  readonly email?: string | undefined;
  readonly topicArn?: string | undefined;
  readonly alarms: { readonly unheard?: boolean } | false;
}

interface AlarmedStage {
  readonly stage: string;
  readonly keepsData: boolean;
}

/** @throws TypeError when a stage that keeps its data has no alarms, or no receiver for them without `unheard` */
export function checkAlarmReceivers(
  { stage, keepsData }: AlarmedStage,
  { email, topicArn, alarms }: AlarmReceivers,
): void {
  if (!keepsData) return;
  if (alarms === false)
    throw settingError(
      `stage ${stage} must have alarms: only dev can turn them off, and a stage with dataProtection: false`,
    );
  if (alarms.unheard === true || email !== undefined || topicArn !== undefined) return;
  throw settingError(
    `the alarms of stage ${stage} have no receiver: set alarmEmail or alarmTopicArn (-c alarmEmail=team@example.com), ` +
      "or alarms: { unheard: true } (-c unheardAlarms=1) to deploy without one",
  );
}
