/** True for a step in braces of a route's path, which stands for any text. */
export const isOpenStep = (step: string | undefined): boolean => step?.[0] === "{";

/** True when a path has the steps of a route. A step in braces fits any text that is not empty. */
export const fits = (steps: readonly string[], given: readonly string[]): boolean =>
  steps.length === given.length &&
  steps.every((step, index) => (isOpenStep(step) ? given[index] !== "" : step === given[index]));
