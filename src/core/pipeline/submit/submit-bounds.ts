/** The least and the most of the whole numbers in a submit. */
export const wholeFields = {
  delay_seconds: [0, 31_536_000],
  max_attempts: [1, 20],
  expires_in_seconds: [1, 1_209_600],
  retention_seconds: [60, 2_592_000],
} as const;

/** The longest name of a type in a submit. */
export const longestTypeName = 64;
