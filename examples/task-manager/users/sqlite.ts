import { DatabaseSync } from "node:sqlite";
import type { Users } from "./users.ts";

const schema = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS users (email TEXT PRIMARY KEY, password TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS logins (number INTEGER PRIMARY KEY, id TEXT UNIQUE, email TEXT, device TEXT, at TEXT);
  CREATE INDEX IF NOT EXISTS logins_of ON logins (email, at);
`;

/** Users in a file, which the server and the workers of one machine share. */
export function sqliteUsers(file: string): Users {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec(schema);
  const addUser = db.prepare("INSERT OR IGNORE INTO users VALUES (?, ?)");
  const findUser = db.prepare("SELECT password FROM users WHERE email = ?");
  const lastLogin = db.prepare("SELECT max(at) AS at FROM logins WHERE email = ?");
  const addLogin = db.prepare("INSERT OR IGNORE INTO logins (id, email, device, at) VALUES (?, ?, ?, ?)");
  const firsts = db.prepare(`
    SELECT (SELECT id FROM logins WHERE email = :email ORDER BY number LIMIT 1) AS ofUser,
           (SELECT id FROM logins WHERE email = :email AND device = :device ORDER BY number LIMIT 1) AS ofDevice`);

  return {
    add: async (email, password) => addUser.run(email, password).changes === 1,
    async find(email) {
      const password = findUser.get(email)?.password;
      if (password === undefined) return undefined;
      const at = lastLogin.get(email)?.at;
      return { email, password: String(password), lastLogin: at == null ? undefined : String(at) };
    },
    async noteLogin(email, { id, at, device }) {
      addLogin.run(id, email, device, at);
      const { ofUser, ofDevice } = firsts.get({ email, device }) ?? {};
      return ofDevice === id && ofUser !== id;
    },
  };
}
