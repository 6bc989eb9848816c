/** The place of a child in its parent's family. */
export interface FamilyPlace {
  leaf: string;
  place: number;
  /** The parent's round. */
  round: number;
}
