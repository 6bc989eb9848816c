/** Name of the file with the code of the task types, in the folder of the built code. */
export const codeName = "tasks.mjs";
