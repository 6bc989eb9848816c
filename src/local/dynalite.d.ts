declare module "dynalite" {
  import type { Server } from "node:http";

  /** The part of dynalite that is used here; it has no types of its own. */
  export default function dynalite(options: {
    /** LevelDB directory. Absent: in memory. */
    path?: string;
    /** How long tables stay in CREATING, in milliseconds. */
    createTableMs?: number;
    updateTableMs?: number;
    deleteTableMs?: number;
  }): Server;
}
