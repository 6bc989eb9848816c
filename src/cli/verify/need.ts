/** What a deployment or a caller must have for a check: a probe type by its name, or one of the others. */
export type Need = `probe.${string}` | "sample" | "admin" | "account" | "deployed" | "tracing" | "containers" | "long";
