/** The four priority queues, most urgent first. */
export const tiers = ["critical", "high", "normal", "low"] as const;
export type Tier = (typeof tiers)[number];
