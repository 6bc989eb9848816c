import { dynamoUsers } from "./dynamodb.ts";
import { sqliteUsers } from "./sqlite.ts";
import type { Users } from "./users.ts";

/** Opens `sqlite:<file>`, or `dynamodb:<table>`: functions in AWS share no disk. */
export function openUsers(place = "sqlite:users.sqlite"): Users {
  const [, kind, name = ""] = /^(sqlite|dynamodb):(.+)$/.exec(place) ?? [];
  if (kind === undefined) throw new TypeError(`USERS is sqlite:<file> or dynamodb:<table>, not ${place}`);
  return kind === "sqlite" ? sqliteUsers(name) : dynamoUsers(name);
}
