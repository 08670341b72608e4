import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { systemClock } from '../async/clock.ts';

/** Subjects of one limit at most: about 500 bytes each, the package's timer included. */
const SUBJECTS_MAX = 100_000;

/** Stands for all subjects that there is no room for. */
const OVERFLOW = 'overflow';

/**
 * The windows that this process counts by itself. The package's memory limiter has no bound: here subjects beyond
 * `subjectsMax` share one window, so that none goes uncounted.
 */
export class OwnWindows extends RateLimiterMemory {
  readonly #onCount: () => void;
  readonly #subjectsMax: number;
  /** Windows opened since `#since` and in the span before it: all that can still be open, and some that are not. */
  #opened = 0;
  #openedBefore = 0;
  #since = 0;

  /** @param onCount called for every request that is counted here */
  constructor(
    options: { readonly keyPrefix: string; readonly points: number; readonly duration: number },
    onCount: () => void = () => undefined,
    subjectsMax = SUBJECTS_MAX,
  ) {
    super(options);
    this.#onCount = onCount;
    this.#subjectsMax = subjectsMax;
  }

  override async consume(subject: string): Promise<RateLimiterRes> {
    this.#onCount();
    const hasRoom = this.#subjects() < this.#subjectsMax || (await this.get(subject)) !== null;
    const window = await super.consume(hasRoom ? subject : OVERFLOW);
    if (window.isFirstInDuration) this.#opened += 1;
    return window;
  }

  /** Keeps nothing: what one process tells the others it knows itself. */
  override set(): Promise<RateLimiterRes> {
    return Promise.resolve(new RateLimiterRes());
  }

  #subjects(): number {
    const spans = Math.floor((systemClock.now() - this.#since) / this.msDuration);
    if (spans > 0) {
      this.#openedBefore = spans === 1 ? this.#opened : 0;
      this.#opened = 0;
      this.#since += spans * this.msDuration;
    }
    return this.#opened + this.#openedBefore;
  }
}
