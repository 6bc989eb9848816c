/** Numbers of ended children, by how they ended. */
export interface Counts {
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
}

export const noCounts: Counts = { completed: 0, failed: 0, cancelled: 0, expired: 0 };

export const endedOf = ({ completed, failed, cancelled, expired }: Counts): number =>
  completed + failed + cancelled + expired;

export function addCounts(one: Counts, other: Counts): Counts {
  return {
    completed: one.completed + other.completed,
    failed: one.failed + other.failed,
    cancelled: one.cancelled + other.cancelled,
    expired: one.expired + other.expired,
  };
}
