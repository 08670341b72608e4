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

/** A suite as Jest hands it over; times in ms. */
interface SuiteResult {
  readonly testFilePath: string;
  readonly perfStats: { readonly start: number; readonly end: number };
}

const EVERY_MS = 20_000;
/** A run with more suites names the slowest: they are where it can become shorter. */
const SLOWEST = 25;

/** A Jest reporter: without a terminal for Jest's own status lines, it prints the progress of the run. */
export default class Progress {
  #shownMs = Date.now();
  readonly #times: { readonly seconds: number; readonly name: string }[] = [];

  onTestResult(_test: unknown, { testFilePath, perfStats }: SuiteResult, counts: Counts): void {
    const name = testFilePath.replace(/^.*\/test-bundle\/|\.test\.js$/g, '');
    this.#times.push({ seconds: Math.round((perfStats.end - perfStats.start) / 1_000), name });
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
    if (this.#times.length <= SLOWEST) return;
    const slowest = this.#times.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
    process.stdout.write(`The slowest: ${slowest.map((one) => `${one.name} ${one.seconds} s`).join(', ')}\n`);
  }
}
