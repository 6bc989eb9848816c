import { PortUnavailable } from "../../src/core/model/errors.ts";

type Method = (...args: never[]) => Promise<unknown>;

/** Makes the next call of a port's method fail: before it has done its work, or after. */
export function failOnce(port: object, method: string, afterwards: boolean): void {
  const methods = port as Record<string, Method>;
  const original = methods[method]?.bind(port) as Method;
  methods[method] = async (...args) => {
    methods[method] = original;
    if (afterwards) await original(...args);
    throw new PortUnavailable(method);
  };
}

/** Makes calls of a port's method take a while, each its own, so that others get ahead. */
export function slowDown(port: object, method: string, turns: () => number): void {
  const methods = port as Record<string, Method>;
  const original = methods[method]?.bind(port) as Method;
  methods[method] = async (...args) => {
    for (let turn = turns(); turn > 0; turn--) await undefined;
    return original(...args);
  };
}
