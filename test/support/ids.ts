import { v5 } from "uuid";

/** UUIDs in no order, the same in each run, so that a line's order is the same, too. Each `of` has its own. */
export function sameIds(of: string): () => string {
  let given = 0;
  return () => {
    given += 1;
    return v5(`${of} ${given}`, v5.URL);
  };
}
