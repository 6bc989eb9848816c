import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Stack } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadTasks } from "../../lib/load-tasks.ts";
import { defineEnvironment } from "../../src/core/task/environment.ts";
import { allOf, inService, synthesize } from "./synthesis.ts";

const declared = defineEnvironment({
  variables: { API_BASE: "https://api.example.com", BUCKET: { description: "Bucket for invoices." } },
});

/** Names of the functions that have a variable, with its value. */
const holders = (synthesis: ReturnType<typeof synthesize>, name: string) =>
  Object.fromEntries(
    allOf(synthesis.service, "AWS::Lambda::Function")
      .map((fn) => [fn.name.replace("/Function", ""), fn.get(`Environment.Variables.${name}`)])
      .filter(([, value]) => value !== undefined),
  );

const allWorkers = (value: string) => ({
  CriticalWorker: value,
  HighWorker: value,
  NormalWorker: value,
  LowWorker: value,
});

test("variables of handlers reach the workers, and no other function", () => {
  const synthesis = synthesize({ environment: { API_BASE: "https://test.example.com" } });
  expect(holders(synthesis, "API_BASE")).toEqual(allWorkers("https://test.example.com"));
});

test("a declared value holds for each deployment that sets no other", () => {
  const synthesis = synthesize({ declared, environment: { BUCKET: "invoices" } });
  expect(holders(synthesis, "API_BASE")).toEqual(allWorkers("https://api.example.com"));
  expect(holders(synthesis, "BUCKET")).toEqual(allWorkers("invoices"));
});

test("the construct reads the declarations from the tasks folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-declared-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "tasks"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(
    join(folder, "tasks/environment.ts"),
    'import { defineEnvironment } from "offload"; export default defineEnvironment({ secrets: { STRIPE_KEY: "prod/stripe" } });',
  );
  expect(loadTasks({ files: { tasks: join(folder, "tasks") }, probes: false, variables: {} }).environment).toEqual({
    variables: {},
    secrets: { STRIPE_KEY: { secretName: "prod/stripe" } },
  });
});

describe("a synth is refused", () => {
  test("for a declared variable without a value", () => {
    expect(() => synthesize({ declared })).toThrow(
      "these variables of tasks/environment.ts have no value: BUCKET. Set them in the pipeline's `environment`",
    );
  });

  test("for a value of a name that is not declared, because local workers would not get it", () => {
    expect(() => synthesize({ declared, environment: { BUCKET: "b", BUCKT: "b" } })).toThrow(
      "environment has names that tasks/environment.ts does not declare: BUCKT. Declare them there",
    );
  });

  test.each([
    ["AWS_REGION", "AWS Lambda and the AWS clients reserve names that start with AWS_ or LAMBDA_"],
    ["LAMBDA_TASK_ROOT", "reserve names that start with AWS_ or LAMBDA_"],
    ["OFFLOAD_TABLE", "Offload reserves names that start with OFFLOAD_"],
    ["_HANDLER", "Lambda or Offload reserves this name"],
    ["TZ", "Lambda or Offload reserves this name"],
    ["POWERTOOLS_SERVICE_NAME", "Lambda or Offload reserves this name"],
    ["MY-NAME", "expected a letter, followed by letters, digits or _"],
    ["X", "at least 2 characters"],
  ])("for the name %s", (name, reason) => {
    expect(() => synthesize({ environment: { [name]: "x" } })).toThrow(
      `handlers cannot have the variable ${JSON.stringify(name)}: `,
    );
    expect(() => synthesize({ environment: { [name]: "x" } })).toThrow(reason);
    expect(() => defineEnvironment({ variables: { [name]: "x" } })).toThrow(reason);
  });

  test("for values that do not fit into Lambda's 4 KB beside Offload's own", () => {
    expect(() => synthesize({ environment: { LONG: "x".repeat(1981) } })).not.toThrow();
    expect(() => synthesize({ environment: { LONG: "x".repeat(1982) } })).toThrow(
      "the variables of handlers, with the names of secrets, have 2001 bytes; at most 2000 fit",
    );
  });
});

/** The master key of webhook secrets, which is not a secret of handlers. */
const webhookKey = "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/offload/Offload-dev/webhook-key";

/** Resources of each function's grants on secrets and parameters of handlers. */
const secretGrants = (synthesis: ReturnType<typeof synthesize>) =>
  Object.fromEntries(
    allOf(synthesis.service, "AWS::IAM::Policy").flatMap((policy) => {
      const own = policy.statements.filter(
        ({ Action, Resource }) =>
          /secretsmanager|ssm|kms/.test(JSON.stringify(Action)) && inService(synthesis, Resource) !== webhookKey,
      );
      const actions = own.flatMap(({ Action }) => Action).sort();
      const resources = own
        .flatMap(({ Resource }) => Resource)
        .map((one) => inService(synthesis, one))
        .sort();
      return own.length === 0 ? [] : [[policy.name.replace("/Role/DefaultPolicy", ""), { actions, resources }]];
    }),
  );

describe("secrets", () => {
  const here = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:";

  test("the places of secrets are a setting of the workers, which only they may read", () => {
    const synthesis = synthesize({
      declared: defineEnvironment({
        secrets: { STRIPE_KEY: "prod/stripe", DB_KEY: { secretName: "db", field: "key" } },
      }),
      secrets: { STRIPE_KEY: "test/stripe" },
    });
    const setting = JSON.stringify({
      STRIPE_KEY: { secretName: "test/stripe" },
      DB_KEY: { secretName: "db", field: "key" },
    });
    expect(holders(synthesis, "OFFLOAD_SECRETS")).toEqual(allWorkers(setting));
    expect(holders(synthesis, "STRIPE_KEY")).toEqual({});
    const grants = {
      actions: ["secretsmanager:GetSecretValue"],
      resources: [`${here}db-??????`, `${here}test/stripe-??????`],
    };
    expect(secretGrants(synthesis)).toEqual({
      CriticalWorker: grants,
      HighWorker: grants,
      NormalWorker: grants,
      LowWorker: grants,
    });
  });

  test("a parameter is granted by its ARN", () => {
    const synthesis = synthesize({ secrets: { MAIL_KEY: { parameterName: "/prod/mail" } } });
    expect(secretGrants(synthesis).LowWorker).toEqual({
      actions: ["ssm:GetParameter"],
      resources: ["arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/prod/mail"],
    });
  });

  test("a secret of the app is named by its ARN, and its key may be used", () => {
    const synthesis = synthesize((app) => {
      const stack = new Stack(app, "App");
      const secret = new Secret(stack, "Db", { encryptionKey: new Key(stack, "Key") });
      return { secrets: { DB_KEY: { secret, field: "password" } } };
    });
    const [high] = allOf(synthesis.service, "AWS::IAM::Policy").filter(({ name }) => name.startsWith("HighWorker"));
    expect(high?.statements.map(({ Action }) => Action)).toEqual(
      expect.arrayContaining(["secretsmanager:GetSecretValue", "kms:Decrypt"]),
    );
    expect(JSON.stringify(holders(synthesis, "OFFLOAD_SECRETS").HighWorker)).toContain('\\"field\\":\\"password\\"');
  });

  test("a pipeline without secrets has neither the setting nor a grant", () => {
    const synthesis = synthesize({ environment: { API_BASE: "x" } });
    expect([holders(synthesis, "OFFLOAD_SECRETS"), secretGrants(synthesis)]).toEqual([{}, {}]);
  });

  test("a secret that is not declared is refused", () => {
    expect(() => synthesize({ declared: defineEnvironment({}), secrets: { STRIPE_KEY: "test/stripe" } })).toThrow(
      "secrets has names that tasks/environment.ts does not declare: STRIPE_KEY",
    );
  });
});

test("a name cannot be a variable and a secret", () => {
  expect(() => defineEnvironment({ variables: { KEY: "x" }, secrets: { KEY: "prod/key" } })).toThrow(
    "KEY is declared as a variable and as a secret",
  );
});

test("a secret must name its place", () => {
  expect(() => defineEnvironment({ secrets: { KEY: "" } })).toThrow(
    "the secret KEY must be a secret's name, or { secretName, field? }, or { parameterName }",
  );
});
