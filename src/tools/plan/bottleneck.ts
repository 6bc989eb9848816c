/** A limit, and how much of it the plan needs. */
export interface Bottleneck {
  what: string;
  allowed: number;
  needed: number;
  unit: string;
  /** Time when the limit was first reached, in seconds from the start. Absent: never. */
  firstAt?: number | undefined;
  /** Consequence of reaching the limit. */
  effect: string;
}
