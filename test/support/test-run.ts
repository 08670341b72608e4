/** Passed from `global-setup.ts` to `global-teardown.ts`: both run in the process that starts the workers. */
export const running: { stores?: { stop(): Promise<void> } } = {};
