import { type Deployment, memberOf, type Resource } from "./deployment.ts";
import { about, type Check, type Finding } from "./finding.ts";
import { isKept } from "./pipeline.ts";
import { findingsOf, type Rule } from "./rules.ts";

/** One statement of a policy. */
interface Statement {
  Effect?: unknown;
  Action?: unknown;
  NotAction?: unknown;
  Resource?: unknown;
}

/** Actions that AWS cannot restrict to resources, and that do not read or write user data. */
const withoutResources =
  /^(xray:(Put\w+|GetSampling\w+)|cloudwatch:(PutMetricData|DescribeAlarms|GetMetricData|GetMetricStatistics|ListMetrics)|ec2:(Describe|Create|Delete)NetworkInterfaces?|ec2:(Unassign|Assign)PrivateIpAddresses|ec2:DescribeSubnets|ecr:GetAuthorizationToken|sts:GetCallerIdentity)$/i;

export const iamWildcard: Check = {
  id: "iam-wildcard",
  title: "Permissions name their actions and resources",
  severities: ["high"],
  find: ({ deployment }) =>
    deployment
      .ofType("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::Role")
      .flatMap((resource): Finding[] => {
        const wide = [
          ...documentsOf(resource).flatMap((one) => wideIn(deployment, resource, one)),
          ...wideManaged(resource),
        ];
        if (wide.length === 0) return [];
        return [
          about(resource, {
            severity: "high",
            found: `It allows ${[...new Set(wide)].join(", and ")}: an attacker in the function has all these permissions.`,
            fix: "Name the actions and the resources in place of wildcards.",
          }),
        ];
      }),
};

const documentsOf = (resource: Resource): unknown[] => [
  resource.get("PolicyDocument"),
  ...resource.list("Policies").map((policy) => memberOf(policy, "PolicyDocument")),
];

/** Describes the parts of a policy document that allow too much. */
function wideIn(deployment: Deployment, resource: Resource, document: unknown): string[] {
  return [memberOf(document, "Statement") ?? []].flat().flatMap((one) => {
    const { Effect, Action, NotAction, Resource: resources } = one as Statement;
    if (Effect !== "Allow") return [];
    if (NotAction !== undefined) return ["every action except some"];
    const actions = [Action].flat().map((action) => deployment.textOf(resource.stack, action));
    const wideActions = actions.filter((action) => /^(\*|[\w-]+:\*)$/.test(action));
    const everywhere = [resources].flat().some((target) => isEverything(deployment.textOf(resource.stack, target)));
    const bound = actions.filter((action) => !withoutResources.test(action));
    return [
      ...wideActions.map((action) => `the actions ${action}`),
      ...(everywhere && bound.length > 0 ? [`${bound.join(", ")} on every resource`] : []),
    ];
  });
}

/** True for `*`, and for an ARN of a service without a resource. */
const isEverything = (text: string): boolean => text === "*" || /^arn:[^:]*:[^:]*:[^:]*:[^:]*:\*+$/.test(text);

const wideManaged = (resource: Resource): string[] =>
  resource
    .list("ManagedPolicyArns")
    .map((arn) => /(AdministratorAccess|PowerUserAccess|\w+FullAccess)\b/.exec(JSON.stringify(arn))?.[1])
    .flatMap((name) => (name === undefined ? [] : [`all of ${name}`]));

export const recovery: Check = {
  id: "recovery",
  title: "Outside dev, data has point-in-time recovery, deletion protection and termination protection",
  severities: ["high"],
  find: ({ deployment }) => [
    ...findingsOf(deployment, recoveryRules),
    ...deployment.stacks.flatMap((stack): Finding[] => {
      const holdsData = tablesToKeep(deployment).some((table) => table.stack === stack);
      if (!holdsData || stack.terminationProtection) return [];
      return [{ severity: "high", subject: stack.name, ...unprotected }];
    }),
  ],
};

const tablesToKeep = (deployment: Deployment): Resource[] =>
  deployment.ofType("AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table").filter(({ stack }) => isKept(stack));

/** The tables in one of whose places the property is not on. */
const tablesWithout = (deployment: Deployment, property: string): Resource[] =>
  tablesToKeep(deployment).filter((table) => {
    const own = table.type === "AWS::DynamoDB::Table" ? [""] : table.list("Replicas").map((_, at) => `Replicas.${at}.`);
    return !own.every((at) => deployment.text(table, `${at}${property}`) === "true");
  });

const recoveryRules: readonly Rule[] = [
  {
    severity: "high",
    broken: (deployment) => tablesWithout(deployment, "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled"),
    found: "It has no point-in-time recovery: data that is deleted by mistake cannot be restored.",
    fix: "Set pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true }.",
  },
  {
    severity: "high",
    broken: (deployment) => tablesWithout(deployment, "DeletionProtectionEnabled"),
    found: "It has no deletion protection: one call can delete it.",
    fix: "Set deletionProtection: true.",
  },
  {
    severity: "high",
    broken: (deployment) =>
      [
        ...tablesToKeep(deployment),
        ...deployment.ofType("AWS::SQS::Queue").filter((queue) => isKept(queue.stack)),
      ].filter((resource) => !resource.isRetained),
    found: "It is deleted with its stack, including its data.",
    fix: "Set removalPolicy: RemovalPolicy.RETAIN.",
  },
];

const unprotected = {
  found: "The stack with the data has no termination protection.",
  fix: "Set terminationProtection: true on the stack.",
} as const;

export const adminTokens: Check = {
  id: "admin-tokens",
  title: "No token of the issuer is an admin's",
  severities: ["low"],
  find: ({ deployment }) =>
    deployment.ofType("AWS::Lambda::Function").flatMap((resource): Finding[] => {
      const roles = String(resource.get("Environment.Variables.OFFLOAD_JWT_ROLES") ?? "");
      const values = [...roles.matchAll(/("(?:[^"\\]|\\.)*")\s*:\s*"admin"/g)].map(([, value]) => value);
      if (values.length === 0) return [];
      return [
        about(resource, {
          severity: "low",
          found: `A token of the issuer with the role ${values.join(" or ")} may access all tenants.`,
          fix: "Make sure that the issuer gives this only to your own staff, or remove it from `jwt.roles`.",
        }),
      ];
    }),
};

export const safetyChecks: readonly Check[] = [iamWildcard, recovery, adminTokens];
