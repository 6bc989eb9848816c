import * as z from "zod";
import { mediaTypePattern } from "../../../util/media-type.ts";
import { parseInput } from "../../model/invalid.ts";
import { largestFileBytes } from "../../model/stored-file.ts";

/** Body of `POST /uploads`. */
export const uploadSchema = z.strictObject({
  content_type: z.string().max(255).regex(mediaTypePattern, "expected a media type such as video/mp4"),
  size_bytes: z.int().min(0).max(largestFileBytes),
  file_name: z
    .string()
    .regex(/^\P{Cc}{1,255}$/u, "expected 1 to 255 characters without control characters")
    .refine((name) => name.isWellFormed(), "expected well-formed Unicode")
    .optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "expected 64 lowercase hexadecimal digits")
    .optional(),
});

/** A file that a client announces. */
export type FileFacts = z.output<typeof uploadSchema>;

/** The facts that come with the bytes of a file. */
export type SentFacts = Pick<FileFacts, "content_type" | "file_name">;

/**
 * The facts of a file that comes with a submit. An empty text is none.
 * @param name The file's name in the type.
 * @throws Problem `invalid_input` when the media type or the file's own name cannot be stored
 */
export function sentFacts(
  name: string,
  { contentType, fileName }: { contentType: string; fileName: string },
): SentFacts {
  const facts = {
    content_type: contentType === "" ? "application/octet-stream" : contentType,
    ...(fileName === "" ? {} : { file_name: fileName }),
  };
  return parseInput(uploadSchema.pick({ content_type: true, file_name: true }), facts, ["files", name]);
}
