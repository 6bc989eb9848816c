import type { Blobs } from "../../src/core/ports/blob.ts";
import { deniedAccess, type ObjectAction } from "../../src/settings/object-rights.ts";

const actions: Record<keyof Blobs, ObjectAction> = {
  put: "PutObject",
  read: "GetObject",
  head: "GetObject",
  delete: "DeleteObject",
  presignPut: "PutObject",
  presignGet: "GetObject",
};

/** Returns the ports of a function, whose bucket refuses what the function's role in AWS has no right to. */
export function inRole<Ports extends { blobs: Blobs }>(role: string, ports: Ports): Ports {
  const blobs = new Proxy(ports.blobs, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        const denied = name in actions ? deniedAccess(role, actions[name as keyof Blobs], String(given[0])) : undefined;
        if (denied !== undefined) throw new Error(`AccessDenied: ${denied}`);
        return member.apply(target, given);
      };
    },
  });
  return { ...ports, blobs };
}
