import { type Fits, fitsOf } from "../../model/fits.ts";
import { longestTypeName, tiers, wholeFields } from "../../model/words.ts";

const whole = (name: keyof typeof wholeFields) => {
  const [minimum, maximum] = wholeFields[name];
  return { type: "integer", minimum, maximum };
};

/** Accepts bodies with the usual fields, which all fit `submitSchema`. That decides about all others. */
export const isUsualBody: Fits = fitsOf({
  type: "object",
  required: ["type"],
  additionalProperties: false,
  properties: {
    type: { type: "string", minLength: 1, maxLength: longestTypeName },
    input: {},
    priority: { type: "string", enum: tiers },
    delay_seconds: whole("delay_seconds"),
    max_attempts: whole("max_attempts"),
    expires_in_seconds: whole("expires_in_seconds"),
    retention_seconds: whole("retention_seconds"),
    tags: {
      ...{ type: "object", maxProperties: 10 },
      propertyNames: { type: "string", pattern: "^[a-z0-9_.-]{1,64}$" },
      additionalProperties: { type: "string", pattern: "^[\\x20-\\x7e]{0,256}$" },
    },
  },
});
