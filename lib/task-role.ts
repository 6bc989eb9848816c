import { Stack } from "aws-cdk-lib";
import {
  type AddToPrincipalPolicyResult,
  CompositePrincipal,
  type IGrantable,
  type IPrincipal,
  type PolicyStatement,
  type PrincipalPolicyFragment,
} from "aws-cdk-lib/aws-iam";
import { Construct, DependencyGroup, type IConstruct } from "constructs";
import { inShort } from "../src/util/foreign-value.ts";
import { checkSameEnvironment } from "./same-environment.ts";
import { settingError } from "./setting-error.ts";
import { allowSecretWithKey, isSecretWithKey } from "./task-secrets.ts";

/**
 * The roles of all workers, those in containers too, as one principal. A grant to it reaches each of them, and no other
 * function.
 */
export class TaskRole implements IPrincipal {
  readonly grantPrincipal: IPrincipal = this;
  readonly assumeRoleAction = "sts:AssumeRole";
  readonly principalAccount: string;
  private readonly roles: readonly IPrincipal[];
  private readonly statements: PolicyStatement[] = [];
  private readonly listeners: ((statement: PolicyStatement) => void)[] = [];

  constructor(workers: readonly (IConstruct & IGrantable)[]) {
    const [first] = workers;
    if (first === undefined) throw settingError("expected at least one worker");
    this.roles = workers.map(({ grantPrincipal }) => grantPrincipal);
    this.principalAccount = Stack.of(first).account;
  }

  /** For policies of resources, such as those of buckets in other accounts. */
  get policyFragment(): PrincipalPolicyFragment {
    return new CompositePrincipal(...this.roles).policyFragment;
  }

  addToPrincipalPolicy(statement: PolicyStatement): AddToPrincipalPolicyResult {
    const policyDependable = new DependencyGroup();
    for (const role of this.roles) {
      const added = role.addToPrincipalPolicy(statement.copy());
      if (added.policyDependable !== undefined) policyDependable.add(added.policyDependable);
    }
    this.statements.push(statement);
    for (const hear of this.listeners) hear(statement);
    return { statementAdded: true, policyDependable };
  }

  /** Hears of each right of handlers: those that were granted already, and those that follow. */
  onStatement(hear: (statement: PolicyStatement) => void): void {
    this.listeners.push(hear);
    for (const statement of this.statements) hear(statement);
  }
}

/** Access of handlers to a resource. */
export type Access = "read" | "write" | "readWrite";

/** The CDK's grants for an access. A resource has at most one of each list. */
const grants: Readonly<Record<Access, readonly string[]>> = {
  read: ["grantRead", "grantReadData", "grantConsumeMessages"],
  write: ["grantWrite", "grantWriteData", "grantSendMessages", "grantPublish"],
  readWrite: ["grantReadWrite", "grantReadWriteData"],
};

/**
 * Grants access to a resource: a bucket, a table, a queue, a secret, a topic, or any other with the CDK's usual
 * methods.
 * @throws TypeError when it is no resource of the CDK, or has no such access
 */
export function grantAccess(role: IGrantable, resource: IConstruct, access: Access, service: Stack): void {
  checkGrant(resource, access);
  checkSameEnvironment("grantToTasks", resource, service);
  if (isSecretWithKey(resource)) {
    const both = access === "readWrite";
    const rights = { reads: both || access === "read", writes: both || access === "write" };
    allowSecretWithKey(Stack.of(resource), role, resource, rights);
    return;
  }
  const calls = callsFor(resource, access);
  if (calls.length > 0) {
    for (const call of calls) call(role);
    return;
  }
  throw settingError(
    `${resource.node.path} has no ${access} access that Offload knows (${grants[access].join(", ")}): call one of its own ` +
      "grants with `pipeline.taskRole`",
  );
}

function checkGrant(resource: unknown, access: unknown): void {
  if (!Construct.isConstruct(resource))
    throw settingError(
      `grantToTasks needs a resource of the CDK, such as a Bucket or Bucket.fromBucketName(...), got ${inShort(resource)}`,
    );
  if (!Object.hasOwn(grants, String(access)))
    throw settingError(`the access to ${resource.node.path} must be read, write or readWrite, got ${inShort(access)}`);
}

type Grant = (grantee: IGrantable) => void;

/** Queues and secrets have no grant for both accesses together. */
function callsFor(resource: IConstruct, access: Access): Grant[] {
  const methods = resource as unknown as Readonly<Record<string, unknown>>;
  const own = grants[access].find((name) => typeof methods[name] === "function");
  if (own !== undefined) return [(grantee) => (methods[own] as Grant).call(resource, grantee)];
  if (access !== "readWrite") return [];
  const both = [callsFor(resource, "read"), callsFor(resource, "write")];
  return both.every((calls) => calls.length > 0) ? both.flat() : [];
}
