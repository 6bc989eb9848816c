declare module "dynalite" {
  import type { Server } from "node:http";

  /** The part of dynalite that is used here. The package has no types of its own. */
  export default function dynalite(options: {
    /** LevelDB directory. Absent: the tables are in memory. */
    path?: string;
    /** Time that tables stay in CREATING, in milliseconds. */
    createTableMs?: number;
    updateTableMs?: number;
    deleteTableMs?: number;
  }): Server;
}
