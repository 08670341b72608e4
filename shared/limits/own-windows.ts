import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { systemClock } from '../async/clock.ts';

/** About 500 bytes each, including the package's timer. */
const SUBJECTS_MAX = 50_000;

const OVERFLOW = 'overflow';

/** The package's memory limiter has no bound: here the excess shares one window. */
export class OwnWindows extends RateLimiterMemory {
  readonly #onCount: () => void;
  readonly #subjectsMax: number;
  #opened = 0;
  #openedBefore = 0;
  #since = 0;

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

  /** `set` shares a window with other processes, and this process remembers the key already. */
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
