import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Fault, type Finding, severities } from "./finding.ts";

/** A row of a check: the fault of each resource that breaks the rule. */
export interface Rule extends Fault {
  broken(deployment: Deployment): readonly Resource[];
}

/** The findings of rules, rule by rule. */
export const findingsOf = (deployment: Deployment, rules: readonly Rule[]): Finding[] =>
  rules.flatMap(({ broken, ...fault }) => broken(deployment).map((resource) => about(resource, fault)));

/** A check that is nothing but its rules. */
export const ruleCheck = (id: string, title: string, ...rules: readonly Rule[]): Check => ({
  id,
  title,
  severities: severities.filter((severity) => rules.some((rule) => rule.severity === severity)),
  find: ({ deployment }) => findingsOf(deployment, rules),
});
