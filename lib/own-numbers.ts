import { Token } from "aws-cdk-lib";
import type { ThrottleOptions } from "./api.ts";
import { settingError } from "./setting-error.ts";

/**
 * The numbers of a pipeline that no other file checks: those of tiers, containers, alarms and limits are checked where
 * they are read.
 */
export interface OwnNumbers {
  readonly workerMemorySize?: number | undefined;
  readonly timeScale?: number | undefined;
  readonly accountConcurrency?: number | undefined;
  readonly throttle?: ThrottleOptions | undefined;
}

const isWhole = (least: number, most: number) => (value: number) =>
  Number.isInteger(value) && value >= least && value <= most;

/**
 * Returns the properties with their numbers checked.
 * @throws TypeError that names an invalid number and the allowed values
 */
export function checkedNumbers<Props extends OwnNumbers>(props: Props): Props {
  const { workerMemorySize, timeScale, accountConcurrency, throttle = {} } = props;
  check("workerMemorySize", workerMemorySize, isWhole(128, 10_240), "a whole number of MB from 128 to 10240");
  check("timeScale", timeScale, (scale) => scale > 0 && scale <= 1000, "a number above 0, at most 1000");
  check("accountConcurrency", accountConcurrency, isWhole(1, 1_000_000), "a whole number of at least 1");
  const isRate = isWhole(1, 1_000_000);
  check("throttle.requestsPerSecond", throttle.requestsPerSecond, isRate, "a whole number of at least 1");
  check("throttle.burst", throttle.burst, isRate, "a whole number of at least 1");
  return props;
}

function check(name: string, given: number | undefined, isGood: (value: number) => boolean, allowed: string): void {
  if (given === undefined || Token.isUnresolved(given) || isGood(given)) return;
  throw settingError(`${name} must be ${allowed}; got ${given}`);
}
