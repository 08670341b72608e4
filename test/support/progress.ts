/** The counts of Jest's `AggregatedResult` that are printed. */
interface Counts {
  readonly startTime: number;
  readonly numTotalTestSuites: number;
  readonly numPassedTestSuites: number;
  readonly numFailedTestSuites: number;
  readonly numPendingTestSuites: number;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

const EVERY_MS = 20_000;

/** A Jest reporter: without a terminal for Jest's own status lines, it prints the progress of the run. */
export default class Progress {
  #shownMs = Date.now();

  onTestResult(_test: unknown, _result: unknown, counts: Counts): void {
    if (process.stderr.isTTY || Date.now() < this.#shownMs + EVERY_MS) return;
    this.#shownMs = Date.now();
    const { numPassedTestSuites, numFailedTestSuites, numPendingTestSuites, numTotalTestSuites } = counts;
    const done = numPassedTestSuites + numFailedTestSuites + numPendingTestSuites;
    const seconds = Math.round((this.#shownMs - counts.startTime) / 1_000);
    process.stderr.write(
      `--- ${done} of ${numTotalTestSuites} suites, ${numFailedTestSuites} failed, ${seconds} s\n`,
    );
  }

  onRunComplete(_contexts: unknown, { numPassedTests, numFailedTests, numPendingTests }: Counts): void {
    process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped\n`);
  }
}
