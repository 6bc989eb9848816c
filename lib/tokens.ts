import { CfnElement, CfnResource, Duration, Fn, Reference, Stack, Token, Tokenization } from "aws-cdk-lib";
import { settingError } from "./setting-error.ts";

/*
 * Values that only a deployment knows: tokens of the CDK. What CloudFormation can resolve may be one; the function that
 * reads it checks it when it starts.
 */

/** A number as text, also a number that only the deployment knows. */
export const numberText = (value: number): string =>
  Token.isUnresolved(value) ? Tokenization.stringifyNumber(value) : String(value);

/** A list as one text, with commas. */
export const listText = (values: readonly string[]): string =>
  Token.isUnresolved(values) ? Fn.join(",", [...values]) : values.join(",");

/** The leaves of an object that only the deployment knows, left out. */
export function knownPart<T>(value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const known = Object.entries(value).filter(([, one]) => !Token.isUnresolved(one));
  return Object.fromEntries(known.map(([name, one]) => [name, knownPart(one)])) as T;
}

/** True when any leaf of an object is known only to the deployment. */
export function hasUnknown(value: unknown): boolean {
  if (value instanceof Duration) return value.isUnresolved();
  if (Token.isUnresolved(value)) return true;
  return typeof value === "object" && value !== null && isPlain(value) && Object.values(value).some(hasUnknown);
}

/** Constructs and values of classes have tokens of their own, which are not an option's. */
const isPlain = (value: object): boolean => Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;

/** @throws TypeError that names the first option whose value only the deployment knows */
export function checkKnown(options: Readonly<Record<string, unknown>>, within = ""): void {
  for (const [name, value] of Object.entries(options)) {
    const path = `${within}${name}`;
    if (typeof value === "object" && value !== null && isPlain(value) && !Array.isArray(value)) {
      checkKnown(value as Record<string, unknown>, `${path}.`);
    } else if (hasUnknown(value)) {
      throw settingError(
        `${path} must be known at synth, but its value is a token that only CloudFormation knows: other values are calculated from it. ` +
          "Give a value, for example from the context (-c), or of the stage",
      );
    }
  }
}

/** True for an ARN: by its text, or as a reference to an attribute that is one. `Otherwise` is for other tokens. */
export function isArn(text: string, otherwise: boolean): boolean {
  if (text.startsWith("arn:")) return true;
  if (!Token.isUnresolved(text)) return false;
  const token = Tokenization.reverseCompleteString(text);
  if (!Reference.isReference(token)) return otherwise;
  const { displayName, target } = token;
  if (displayName !== "Ref") return /arn$/i.test(displayName);
  // The type of the resource says what `Ref` is.
  if (!CfnElement.isCfnElement(target) || !CfnResource.isCfnResource(target)) return otherwise;
  return target.cfnResourceType === "AWS::SecretsManager::Secret";
}

/** Stacks whose resources a text refers to. */
export const stacksIn = (text: string): Stack[] =>
  Tokenization.reverseString(text).tokens.flatMap((token) =>
    Reference.isReference(token) ? [Stack.of(token.target)] : [],
  );
