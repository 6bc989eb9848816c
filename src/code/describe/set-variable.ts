/** Without it a Proxy of the environment refuses another value for a variable that is there. */
export const setVariable = (env: NodeJS.ProcessEnv, name: string | symbol, value: unknown): boolean =>
  Reflect.set(env, name, value);
