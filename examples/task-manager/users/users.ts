export interface Login {
  id: string;
  /** ISO time in UTC. */
  at: string;
  device: string;
}

export interface User {
  email: string;
  /** Hash of the password. */
  password: string;
  /** Time of the last noted login. */
  lastLogin: string | undefined;
}

/** Users and their logins. The server reads it, handlers write to it. */
export interface Users {
  /** Adds a user. Returns false when the address is taken. */
  add(email: string, password: string): Promise<boolean>;
  find(email: string): Promise<User | undefined>;
  /** Stores a login once, however often it is called. Returns true for the first login from another device than before. */
  noteLogin(email: string, login: Login): Promise<boolean>;
}
