import { createUpload, uploadSchema } from "../../core/extras/files/uploads.ts";
import { expecting } from "../../core/model/expected.ts";
import { identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import type { ApiResponse, Call } from "./call.ts";
import { type SubmitApiPorts, withFiles } from "./submit-ports.ts";

/** Answers `POST /uploads`. */
export async function uploadAnswer(ports: SubmitApiPorts, call: Call): Promise<ApiResponse> {
  const identity = identify(call);
  const view = await expecting(uploadSchema, async () =>
    createUpload(withFiles(ports), { identity, body: await jsonBody(call) }),
  );
  // The URL is a secret: it is all that a sender of the bytes needs.
  return call.unstored(view, 201);
}
