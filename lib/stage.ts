import { RemovalPolicy } from "aws-cdk-lib";

/** Whether a stage can be thrown away. Every stage but `dev` is protected: what nobody thought of is safe. */
export const isDisposable = (stage: string): boolean => stage === "dev";

/** What becomes of a stage's data and logs when their stack is deleted. */
export const removalPolicyOf = (stage: string): RemovalPolicy =>
  isDisposable(stage) ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;

const stagePattern = /^[a-z][a-z0-9-]{0,19}$/;

/** @throws TypeError when a stage cannot be part of a stack's name. */
export function checkStage(stage: string): void {
  if (stagePattern.test(stage)) return;
  throw new TypeError(
    `stage must be 1 to 20 lower case letters, digits and '-', starting with a letter, got ${JSON.stringify(stage)}`,
  );
}

/** Who hears of which alarms. */
interface Hearing {
  readonly email?: string | undefined;
  readonly topicArn?: string | undefined;
  readonly alarms: { readonly unheard?: boolean } | false;
}

/** @throws Error when a protected stage has no alarms, or nobody would hear of them and nobody said that this is meant */
export function checkHearing(stage: string, { email, topicArn, alarms }: Hearing): void {
  if (isDisposable(stage)) return;
  if (alarms === false) throw new Error(`stage ${stage} must have alarms: only dev can do without`);
  if (alarms.unheard === true || email !== undefined || topicArn !== undefined) return;
  throw new Error(
    `nobody would hear of the alarms of stage ${stage}: give alarmEmail or alarmTopicArn (-c alarmEmail=team@example.com), ` +
      "or alarms: { unheard: true } (-c unheardAlarms=1) when that is meant",
  );
}
