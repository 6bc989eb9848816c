import { ArnFormat, Fn, Stack, Token } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import { type SecretOption, type SecretSource, secretSource } from "../src/core/task/environment.ts";
import { isArn } from "./tokens.ts";

/** The part of the CDK's `ISecret` that a grant needs. */
interface SecretConstruct {
  readonly secretArn: string;
  /** Undefined for a secret that was imported by name. */
  readonly secretFullArn?: string | undefined;
  /** The secret's own key. Undefined: AWS's key for the account. */
  readonly encryptionKey?: IKey | undefined;
}

/** A secret with its place: a name, or a construct and a field of it. */
type PlacedSecret = SecretOption | { readonly secret: SecretConstruct; readonly field?: string };

/**
 * Place of a secret: its name in Secrets Manager, a field of it, a parameter's name, or a secret or parameter of the
 * CDK. A secret of the CDK also allows the use of its own KMS key.
 */
export type TaskSecret = PlacedSecret | SecretConstruct;

/** Secrets by the names of their variables. */
export type TaskSecrets = Readonly<Record<string, TaskSecret>>;

export type PlacedSecrets = Readonly<Record<string, PlacedSecret>>;

/** The same secrets, with the places of those that are constructs. */
export const placed = (secrets: TaskSecrets): PlacedSecrets =>
  Object.fromEntries(Object.entries(secrets).map(([name, given]) => [name, placeOf(given)]));

function placeOf(given: TaskSecret): PlacedSecret {
  if (typeof given !== "object" || given === null) return given;
  if ("secretArn" in given) return { secret: given };
  return Construct.isConstruct(given) && "parameterName" in given ? { parameterName: given.parameterName } : given;
}

/** Places of secrets, as the worker's setting contains them. */
export const sourcesOf = (secrets: PlacedSecrets): Record<string, SecretSource> =>
  Object.fromEntries(Object.entries(secrets).map(([name, given]) => [name, sourceOf(name, given)]));

function sourceOf(name: string, given: PlacedSecret): SecretSource {
  if (typeof given === "string" || !("secret" in given)) return secretSource(name, given);
  const { secret, field } = given;
  return { secretName: secret.secretFullArn ?? secret.secretArn, ...(field !== undefined && { field }) };
}

/**
 * Grants reading these secrets, and no others. The CDK's own grant would name the workers' roles in the policy of a
 * secret's key, which is a circular reference when the key is in a stack of the app.
 */
export function allowSecrets(scope: Construct, grantee: IGrantable, secrets: PlacedSecrets): void {
  const allow = (actions: string[], resources: string[], conditions = {}) =>
    grantee.grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions, resources, conditions }));
  const stack = Stack.of(scope);
  for (const [name, given] of Object.entries(secrets)) {
    const source = sourceOf(name, given);
    if ("parameterName" in source) allow(["ssm:GetParameter"], [parameterArn(stack, source.parameterName)]);
    else allow(["secretsmanager:GetSecretValue"], [secretArn(stack, source.secretName)]);
    const key = typeof given === "object" && "secret" in given ? given.secret.encryptionKey : undefined;
    if (key !== undefined) allowKey(stack, grantee, key, ["Decrypt"]);
  }
}

function allowKey({ region }: Stack, grantee: IGrantable, key: IKey, actions: readonly string[]): void {
  grantee.grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: actions.map((action) => `kms:${action}`),
      resources: [key.keyArn],
      conditions: { StringEquals: { "kms:ViaService": `secretsmanager.${region}.amazonaws.com` } },
    }),
  );
}

/** True for a secret whose own key the CDK's grants would write the workers' roles into. */
export const isSecretWithKey = (resource: object): resource is SecretWithKey =>
  "secretArn" in resource && "encryptionKey" in resource && resource.encryptionKey !== undefined;

interface SecretWithKey extends SecretConstruct {
  readonly encryptionKey: IKey;
}

/**
 * Grants reading or writing a secret and using its own key, which the CDK's grants cannot without a circular reference.
 */
export function allowSecretWithKey(
  stack: Stack,
  grantee: IGrantable,
  { secretFullArn, secretArn: arn, encryptionKey }: SecretWithKey,
  access: { readonly reads: boolean; readonly writes: boolean },
): void {
  const actions = [
    ...(access.reads ? ["GetSecretValue", "DescribeSecret"] : []),
    ...(access.writes ? ["PutSecretValue", "UpdateSecret", "UpdateSecretVersionStage"] : []),
  ];
  grantee.grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: actions.map((action) => `secretsmanager:${action}`),
      resources: [secretFullArn ?? `${arn}-??????`],
    }),
  );
  allowKey(stack, grantee, encryptionKey, ["Decrypt", ...(access.writes ? ["Encrypt", "GenerateDataKey"] : [])]);
}

/** The ARN of a secret with a name ends in six random characters. */
const secretArn = (stack: Stack, name: string): string =>
  isArn(name, true)
    ? name
    : stack.formatArn({
        service: "secretsmanager",
        resource: "secret",
        resourceName: `${name}-??????`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      });

const parameterArn = (stack: Stack, name: string): string => {
  if (isArn(name, true)) return name;
  const path = `parameter/${name.replace(/^\//, "")}`;
  // A name that only the deployment knows may start with a slash.
  const resource = Token.isUnresolved(name) ? Fn.join("/", Fn.split("//", path)) : path;
  return stack.formatArn({ service: "ssm", resource, arnFormat: ArnFormat.NO_RESOURCE_NAME });
};
