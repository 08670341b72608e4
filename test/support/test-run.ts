/** What `global-setup.ts` hands to `global-teardown.ts`: both run in the process that starts the workers. */
export const running: { postgres?: { stop(): Promise<void> } } = {};
