import { Token } from "aws-cdk-lib";
import { settingError } from "./setting-error.ts";

const layerPattern = /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:layer:([\w-]+):\d+$/;

/**
 * Returns the layer's name. Undefined: only the deployment knows the ARN.
 * @throws TypeError for what is not the ARN of a layer's version
 */
export function checkLayerArn(option: string, arn: string): string | undefined {
  if (Token.isUnresolved(arn)) return undefined;
  const name = layerPattern.exec(arn)?.[1];
  if (name !== undefined) return name;
  throw settingError(
    `${option} must be the ARN of a layer's version, such as arn:aws:lambda:<region>:<account>:layer:<name>:<version>, got ${arn}`,
  );
}
