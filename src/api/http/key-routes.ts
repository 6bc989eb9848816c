import type { KeyStore } from "../../core/ports/tasks.ts";
import { keyView } from "../acts/key-view.ts";
import { type HandlersOf, identify } from "./api.ts";

/** The handler that lists a tenant's keys. */
export const keyReads = ({ keys }: { keys: KeyStore }) =>
  ({
    listKeys: async (call) => {
      const { tenantId } = identify(call, "admin");
      return call.unstored({ keys: (await keys.list(tenantId)).map(keyView) });
    },
  }) satisfies Partial<HandlersOf<"status">>;
