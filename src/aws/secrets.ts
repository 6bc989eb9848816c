import { type SecretReader, UnexpectedSecret } from "../core/task/secrets.ts";
import { boundedCalls } from "./call-times.ts";
import { boundedTries } from "./http-handler.ts";
import { GetSecretValueCommand, SecretsManagerClient } from "./lean/client-secrets-manager.ts";
import { GetParameterCommand, SSMClient } from "./lean/client-ssm.ts";

/** Reads secrets from Secrets Manager, and parameters from SSM Parameter Store, which decrypts them. */
export function awsSecrets(): SecretReader {
  const secrets = boundedCalls(new SecretsManagerClient(boundedTries()));
  const parameters = boundedCalls(new SSMClient(boundedTries()));
  return {
    async read(source) {
      if ("parameterName" in source) {
        const command = new GetParameterCommand({ Name: source.parameterName, WithDecryption: true });
        const { Parameter } = (await parameters.send(command)) as { Parameter?: { Value?: unknown } };
        return textOf(Parameter?.Value);
      }
      const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: source.secretName }));
      return textOf(SecretString);
    },
  };
}

/** A secret can also be bytes, which cannot become a variable. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new UnexpectedSecret("it is not a text");
}
