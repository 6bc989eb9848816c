import type { ChangeNotice, EndNotice } from "../notify/notice.ts";
export type PushPorts = {};
export async function pushNotice(_: PushPorts, __: EndNotice | ChangeNotice, ___?: unknown): Promise<void> {}
