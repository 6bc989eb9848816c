/** Each child whose number this divides fails permanently, after its effect. */
export const failEvery = 7;
