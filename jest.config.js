/**
 * Tests run as bundles: a suite that loads some large files begins sooner than one that loads a thousand small ones.
 * `node bundle.js --tests` makes them.
 */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/dist/test-bundle'],
  testMatch: ['**/*.test.js'],
  transform: {},
  globalSetup: '<rootDir>/dist/test/support/global-setup.js',
  globalTeardown: '<rootDir>/dist/test/support/global-teardown.js',
  // Room for a machine that is busy with other suites: what a test promises about time it measures itself.
  testTimeout: 180_000,
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/dist/test/support/progress.js'],
  testSequencer: '<rootDir>/dist/test/support/longest-first.js',
  // What a suite has loaded stays in its process: heaps of gigabytes stand still for seconds, in suites that are small
  // themselves. Beyond this much a new process goes on.
  workerIdleMemoryLimit: '600MB',
};
