import type { Check, Finding, ReviewedType } from "./finding.ts";

/** Names of types that a finding lists. */
const mostNames = 5;

export const familyTier: Check = {
  id: "family-tier",
  title: "Types that spawn children have a tier of their own",
  severities: ["low"],
  find: ({ types }) =>
    types
      .filter(({ children }) => children !== undefined)
      .flatMap((parent): Finding[] => {
        const others = types.filter(({ name, priority }) => priority === parent.priority && name !== parent.name);
        return others.length === 0 ? [] : [inOneTier(parent, others)];
      }),
};

/** A definition does not name the types that its handler spawns, so each type of the parent's tier may be one. */
const inOneTier = ({ name, priority }: ReviewedType, others: readonly ReviewedType[]): Finding => ({
  severity: "low",
  subject: `task ${name}`,
  found:
    `It may spawn children, and its tier, ${priority}, is also that of ${namesOf(others)}. If these are its children, ` +
    "each later task of the tenant in this tier waits behind all of them: the next parent, a retry of this one, " +
    "the attempts that aggregate. At the tier's depth bound, clients get 503 queue_full.",
  fix: "Set a higher priority for the parent, or a lower one for its children: in their type, or in task.spawn. If you have, skip this check.",
});

function namesOf(types: readonly ReviewedType[]): string {
  const names = types.slice(0, mostNames).map(({ name }) => name);
  const more = types.length - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}

export const familyChecks: readonly Check[] = [familyTier];
