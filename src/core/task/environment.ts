import { type ChecksOf, calledAt, eachOf, either, object, optionsFault, text } from "./check-options.ts";

/** A variable: its value, or an object when some deployments set their own value. */
export type VariableOption =
  | string
  | {
      /** Value where the deployment, `.env` or the shell sets none. Default: none, so each deployment must set one. */
      readonly default?: string;
      /** One sentence for people who set the value. Default: none. */
      readonly description?: string;
    };

/** A secret: where its value is stored in AWS. A text is the name of a secret in Secrets Manager. */
export type SecretOption = string | SecretSource;

/** Place of a secret's value in AWS. */
export type SecretSource =
  | {
      /** Name or ARN of a secret in Secrets Manager. */
      readonly secretName: string;
      /** Field of the secret's JSON object. Default: the secret's whole text. */
      readonly field?: string;
    }
  | {
      /** Name or ARN of a parameter in SSM Parameter Store. */
      readonly parameterName: string;
    };

/** Environment variables that handlers read. */
export interface EnvironmentOptions {
  /** Default: none. */
  readonly variables?: Readonly<Record<string, VariableOption>>;
  /** Default: none. */
  readonly secrets?: Readonly<Record<string, SecretOption>>;
}

/** Declared environment variables of handlers. The construct and the local server read the same declarations. */
export interface TaskEnvironment {
  /** Value of each variable. Undefined: each deployment sets its own. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly secrets: Readonly<Record<string, SecretSource>>;
}

/** An app without `tasks/environment.ts`. */
export const emptyEnvironment: TaskEnvironment = { variables: {}, secrets: {} };

const variable: ChecksOf<Exclude<VariableOption, string>> = { default: text, description: text };
const secret: ChecksOf<SecretSource> = { secretName: text, field: text, parameterName: text };

const environmentOptions: ChecksOf<EnvironmentOptions> = {
  variables: eachOf(either(text, object("the variable", variable))),
  secrets: eachOf(either(text, object("the secret", secret))),
};

/**
 * Declares the environment variables that handlers read, as the default export of `tasks/environment.ts`.
 * @throws TypeError that names the variable and what is allowed
 * @example
 * export default defineEnvironment({
 *   variables: { API_BASE: "https://api.example.com" },
 *   secrets: { STRIPE_KEY: "prod/stripe" },
 * });
 */
export function defineEnvironment(options: EnvironmentOptions): TaskEnvironment {
  const fault = optionsFault(options, environmentOptions);
  if (fault !== undefined) throw new TypeError(`defineEnvironment: ${fault}${calledAt(defineEnvironment)}`);
  const { variables = {}, secrets = {} } = options;
  checkNames(variables, secrets);
  return {
    variables: Object.fromEntries(
      Object.entries(variables).map(([name, given]) => [name, typeof given === "string" ? given : given.default]),
    ),
    secrets: Object.fromEntries(Object.entries(secrets).map(([name, given]) => [name, secretSource(name, given)])),
  };
}

/**
 * @throws TypeError for the first name that handlers' variables cannot have, or that is both a variable and a secret
 */
export function checkNames(variables: object, secrets: object): void {
  for (const name of [...Object.keys(variables), ...Object.keys(secrets)]) {
    const fault = faultOfName(name);
    if (fault !== undefined) throw new TypeError(`handlers cannot have the variable ${JSON.stringify(name)}: ${fault}`);
  }
  const both = Object.keys(variables).find((name) => Object.hasOwn(secrets, name));
  if (both !== undefined) throw new TypeError(`${both} is declared as a variable and as a secret: remove one of them`);
}

/** The pattern of Lambda for names of variables. */
const namePattern = /^[A-Za-z]\w+$/;

/** Names that Lambda reserves, and names that change how the worker itself runs. */
const reservedNames = new Set([
  ...["TZ", "PATH", "LD_LIBRARY_PATH", "NODE_PATH"],
  ...["POWERTOOLS_SERVICE_NAME", "OTEL_AWS_APPLICATION_SIGNALS_ENABLED"],
]);

function faultOfName(name: string): string | undefined {
  if (/^(AWS_|LAMBDA_)/.test(name))
    return "AWS Lambda and the AWS clients reserve names that start with AWS_ or LAMBDA_";
  if (name.startsWith("OFFLOAD_")) return "Offload reserves names that start with OFFLOAD_";
  if (reservedNames.has(name) || name.startsWith("_")) return "Lambda or Offload reserves this name";
  if (namePattern.test(name)) return undefined;
  return "expected a letter, followed by letters, digits or _ (at least 2 characters)";
}

/** @throws TypeError when neither a secret nor a parameter is named */
export function secretSource(name: string, given: SecretOption): SecretSource {
  const source = typeof given === "string" ? { secretName: given } : given;
  const place = "secretName" in source ? source.secretName : source.parameterName;
  if (typeof place === "string" && place !== "") return source;
  throw new TypeError(`the secret ${name} must be a secret's name, or { secretName, field? }, or { parameterName }`);
}
