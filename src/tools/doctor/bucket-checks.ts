import { objectDays } from "../../settings/config.ts";
import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Fault, type Finding } from "./finding.ts";
import { bucketsOf } from "./pipeline.ts";
import { ruleCheck } from "./rules.ts";

export const bucketLifecycle: Check = {
  id: "bucket-lifecycle",
  title: "The bucket ends unfinished uploads, and deletes no object that a task still needs",
  severities: ["high", "medium"],
  find: ({ deployment }) => bucketsOf(deployment).flatMap((bucket) => lifecycleFindings(deployment, bucket)),
};

function lifecycleFindings(deployment: Deployment, bucket: Resource): Finding[] {
  const rules = bucket
    .list("LifecycleConfiguration.Rules")
    .map((_, index) => `LifecycleConfiguration.Rules.${index}`)
    .filter((rule) => deployment.text(bucket, `${rule}.Status`) === "Enabled");
  const daysOf = (property: string) => rules.map((rule) => deployment.number(bucket, `${rule}.${property}`) ?? 0);
  const aborts = daysOf("AbortIncompleteMultipartUpload.DaysAfterInitiation").some((days) => days > 0);
  const early = daysOf("ExpirationInDays").filter((days) => days > 0 && days < objectDays);
  return [...(aborts ? [] : [about(bucket, neverAborted)]), ...early.map((days) => about(bucket, expiresEarly(days)))];
}

const neverAborted = {
  severity: "medium",
  found: "No lifecycle rule ends unfinished uploads: what a killed worker has sent stays, and is paid for, forever.",
  fix: "Add the rule `abortIncompleteMultipartUploadAfter: Duration.days(1)`.",
} as const;

const expiresEarly = (days: number): Fault => ({
  severity: "high",
  found:
    `A lifecycle rule deletes objects after ${days} days. It knows neither waiting tasks nor their retention: ` +
    "inputs and results can be lost.",
  fix: `Remove the rule, or let it wait ${objectDays} days. Offload deletes objects itself.`,
});

const blocks = ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"];

const blocksAccess = (deployment: Deployment, bucket: Resource): boolean =>
  blocks.every((one) => deployment.text(bucket, `PublicAccessBlockConfiguration.${one}`) === "true");

export const bucketAccess = ruleCheck(
  "bucket-access",
  "The bucket blocks public access, and keeps no versions of deleted objects",
  {
    severity: "critical",
    broken: (deployment) => bucketsOf(deployment).filter((bucket) => !blocksAccess(deployment, bucket)),
    found: "It does not block public access: one wrong policy shows the files of all tenants to everybody.",
    fix: "Set blockPublicAccess: BlockPublicAccess.BLOCK_ALL.",
  },
  {
    severity: "medium",
    broken: (deployment) =>
      bucketsOf(deployment).filter((bucket) => deployment.text(bucket, "VersioningConfiguration.Status") === "Enabled"),
    found: "It keeps versions: files stay, and are paid for, after their retention.",
    fix: "Set versioned: false.",
  },
);

export const bucketChecks: readonly Check[] = [bucketLifecycle, bucketAccess];
