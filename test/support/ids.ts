import { createHash } from "node:crypto";

/** UUIDs in no order, the same ones in each run, and others for each `of`: what a test sees of a line's order is the same, too. */
export function sameIds(of: string): () => string {
  let given = 0;
  return () => {
    given += 1;
    const hex = createHash("sha256").update(`${of} ${given}`).digest("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}
