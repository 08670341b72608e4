/** RFC 6238. A code is for one step. */
const STEP_MS = 30_000;
/** Steps that the clock of the user's device may be off. */
const STEPS_OFF_MAX = 1;

const stepAt = (nowMs: number): number => Math.floor(nowMs / STEP_MS);

/** The steps whose codes are accepted: none twice. @param lastStep of the last accepted code */
export const acceptedSteps = (nowMs: number, lastStep: number | undefined): readonly number[] =>
  Array.from({ length: 2 * STEPS_OFF_MAX + 1 }, (_, n) => stepAt(nowMs) - STEPS_OFF_MAX + n).filter(
    (step) => lastStep === undefined || step > lastStep,
  );
