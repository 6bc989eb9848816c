/** A check needs this of a deployment or a caller: a probe type by its name, or one of the others. */
export type Need = `probe.${string}` | "sample" | "admin" | "account" | "deployed" | "tracing" | "containers" | "long";
