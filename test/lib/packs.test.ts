import { readFileSync } from "node:fs";
import { type App, Stack, Validations } from "aws-cdk-lib";
import { type IVpc, Vpc } from "aws-cdk-lib/aws-ec2";
import { Key } from "aws-cdk-lib/aws-kms";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import {
  AwsSolutionsChecks,
  HIPAASecurityChecks,
  type INagValidationContext,
  type NagPack,
  NIST80053R5Checks,
  PCIDSS321Checks,
  ServerlessChecks,
} from "cdk-nag";
import { describe, expect, test } from "vitest";
import type { TaskPipeline } from "../../lib/task-pipeline.ts";
import { needed, type Props, synthesize } from "./synthesis.ts";

const packs: Readonly<Record<string, (app: App) => NagPack>> = {
  HIPAA: (app) => new HIPAASecurityChecks(app),
  NIST: (app) => new NIST80053R5Checks(app),
  PCI: (app) => new PCIDSS321Checks(app),
};

/** The packs that report each rule for a deployment's own resources. */
function findingsOf(propsIn: (app: App) => Props, use?: (pipeline: TaskPipeline) => void): Record<string, string> {
  const found = new Map<string, string[]>();
  let app: App | undefined;
  synthesize(
    (made) => {
      app = made;
      return propsIn(made);
    },
    use ?? (() => {}),
  );
  for (const [name, packOf] of Object.entries(packs)) {
    for (const rule of rulesFound(packOf, app)) found.set(rule, [...(found.get(rule) ?? []), name]);
  }
  return Object.fromEntries([...found].map(([rule, names]) => [rule, names.join(", ")]));
}

function rulesFound(packOf: (app: App) => NagPack, app: App | undefined): string[] {
  if (app === undefined) throw new Error("no app was made");
  const context: INagValidationContext = { appConstruct: app, templatePaths: [], stackTemplates: [] };
  const own = packOf(app)
    .validate(context)
    .violations.filter(({ violatingResources: resources }) =>
      resources.some(({ constructPath = "" }) => constructPath.startsWith("Offload/")),
    );
  return own.map(({ ruleName }) => ruleName.slice(ruleName.indexOf("-") + 1));
}

const page = readFileSync(new URL("../../docs/compliance.md", import.meta.url), "utf8");

/** Rules and packs of the table below a heading. */
function tableBelow(heading: string): Record<string, string> {
  const part = page.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = [...part.matchAll(/^\| `(\w+)` \| ([\w, ]+) \| .+ \|$/gm)];
  return Object.fromEntries(rows.map(([, rule = "", names = ""]) => [rule, names]));
}

/** Each option that adds resources. */
const large: Props = {
  stage: "prod",
  ...needed.prod,
  containers: {},
  push: true,
  events: true,
  jwt: { issuer: "https://login.example.com", audience: "offload", console: { clientId: "console" } },
};

const vpcIn = (app: App): IVpc => new Vpc(new Stack(app, "Network"), "Vpc") as IVpc;

/** The cures that the page names. */
const cured = (app: App): Props => ({
  ...large,
  logRetention: RetentionDays.ONE_YEAR,
  encryptionKey: new Key(new Stack(app, "Keys"), "Key", { enableKeyRotation: true }),
  vpc: vpcIn(app),
});

describe("the page about HIPAA, NIST and PCI", () => {
  const left = findingsOf(cured);

  test("has a reason for each finding that no option cures", () => {
    expect(tableBelow("What is left")).toEqual(left);
  });

  test("names the option that cures each other one", () => {
    const all = findingsOf(() => large);
    const cures = Object.fromEntries(Object.entries(all).filter(([rule]) => left[rule] === undefined));
    expect(tableBelow("What an option cures")).toEqual(cures);
  });

  test("says how they are acknowledged, after which a pack finds nothing", () => {
    const ids = Object.keys(left);
    for (const id of ids) expect(page.split("## In your app")[1]).toContain(`"${id}"`);
    const acknowledge = (pipeline: TaskPipeline) => {
      for (const id of ids) Validations.of(pipeline).acknowledge({ id: `HIPAA.Security-${id}`, reason: "tested" });
    };
    expect(Object.values(findingsOf(cured, acknowledge)).join()).not.toContain("HIPAA");
  });
});

test("AwsSolutions and Serverless find nothing", () => {
  let app: App | undefined;
  synthesize(
    (made) => {
      app = made;
      return cured(made);
    },
    () => {},
  );
  for (const packOf of [(made: App) => new AwsSolutionsChecks(made), (made: App) => new ServerlessChecks(made)]) {
    expect(rulesFound(packOf, app)).toEqual([]);
  }
});
