import { RemovalPolicy } from "aws-cdk-lib";
import { settingError } from "./setting-error.ts";

/** True for a disposable stage: only `dev`. Every other stage is protected. */
export const isDisposable = (stage: string): boolean => stage === "dev";

/** Removal policy of a stage's data and logs. */
export const removalPolicyOf = (stage: string): RemovalPolicy =>
  isDisposable(stage) ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;

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

/** @throws TypeError when a protected stage has no alarms, or no receiver for them without `unheard` */
export function checkAlarmReceivers(stage: string, { email, topicArn, alarms }: AlarmReceivers): void {
  if (isDisposable(stage)) return;
  if (alarms === false) throw settingError(`stage ${stage} must have alarms: only dev can turn them off`);
  if (alarms.unheard === true || email !== undefined || topicArn !== undefined) return;
  throw settingError(
    `the alarms of stage ${stage} have no receiver: set alarmEmail or alarmTopicArn (-c alarmEmail=team@example.com), ` +
      "or alarms: { unheard: true } (-c unheardAlarms=1) to deploy without one",
  );
}
