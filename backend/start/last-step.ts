/** The last step of the start that the backend tells its parent process. Only then may something answer at its port. */
export const LAST_STEP = "beginning to listen";
