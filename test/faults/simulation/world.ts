import { fateOf } from './fate.ts';
import type { Tape } from './tape.ts';

/** One lifetime of a node, from its start to its crash. A crash stops all of its work and undoes none. */
export interface Process {
  readonly name: string;
  readonly isAlive: boolean;
  /** Runs once, at the crash. */
  onCrash(then: () => void): void;
}

/** One call of a port. It is executed in one step, in which the process, the network or the store may fail. */
export interface PortCall<T> {
  readonly process: Process;
  readonly label: string;
  /** The effect in the store: at once or not at all. */
  readonly run: () => T | Promise<T>;
  /** The call waits while this is false, e.g. for a lock. */
  readonly mayRun?: () => boolean;
  /** The error of a definite refusal, without an effect. */
  readonly refused: () => Error;
  /** The error of a lost reply, with or without an effect. */
  readonly unknown: () => Error;
  /** The request may still take effect after its caller has given up. Default: it does not. */
  readonly mayLandLate?: boolean;
}

export interface World {
  /** The store's clock, in milliseconds since the epoch. */
  readonly now: number;
  readonly tape: Tape;
  /** The number of executed steps. */
  readonly steps: number;
  start(name: string): Process;
  crash(process: Process): void;
  call<T>(call: PortCall<T>): Promise<T>;
  /** Resolves after `ms` of the store's clock, or when `cancelled` resolves. */
  wait(ms: number, cancelled?: Promise<unknown>): Promise<void>;
  /** Like `wait`, for a process: never resolves if the process has crashed. */
  pause(process: Process, ms: number): Promise<void>;
  /** Executes steps until none remain. False if the schedule does not end. */
  run(): Promise<boolean>;
  /** One line for each step; kept only on request. */
  readonly story: readonly string[];
}

interface Step {
  readonly label: string;
  readonly process: Process | undefined;
  wakeAt: number;
  readonly mayRun: () => boolean;
  readonly take: () => void;
}

/** The maximum of steps in a schedule, far above that of any schedule that ends. */
const STEPS_MAX = 20_000;
/** Just before midnight UTC, so that the date changes during the schedule. */
const START_MS = Date.UTC(2026, 0, 1, 23, 59, 58);
const always = (): boolean => true;

/**
 * Lets all work continue that needs no step: promises settle, and work that waits for the next event-loop iteration
 * (`shared/async/coalesce.ts`) runs.
 */
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });

/**
 * One process with many virtual nodes. Each of their actions is a step, and a tape decides the next step and its
 * outcome. There is no other randomness, so the same tape makes the same schedule.
 */
export const createWorld = (tape: Tape, keepStory = false): World => {
  let now = START_MS;
  let steps: Step[] = [];
  let taken = 0;
  const story: string[] = [];
  const crashHandlers = new WeakMap<Process, (() => void)[]>();
  const dead = new WeakSet<Process>();
  const tell = (line: string): void => {
    if (keepStory) story.push(`${new Date(now).toISOString()} ${line}`);
  };

  const crash = (process: Process): void => {
    if (dead.has(process)) return;
    dead.add(process);
    steps = steps.filter((step) => step.process !== process);
    for (const then of crashHandlers.get(process) ?? []) then();
  };

  const call = <T>(portCall: PortCall<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const { process, label, run, mayRun = always } = portCall;
      if (dead.has(process)) return;
      const add = (delayMs: number, take: () => void, of: Process | undefined = process): void => {
        steps.push({
          label,
          process: of,
          wakeAt: now + delayMs,
          mayRun: of === undefined ? always : mayRun,
          take,
        });
      };
      const doIt = async (): Promise<T> => run();
      const doUnheard = (): void => void doIt().catch(() => undefined);
      add(0, () => {
        const fate = fateOf(tape.next());
        tell(`${process.name} ${label}${fate.kind === 'done' ? '' : `: ${fate.kind}`}`);
        switch (fate.kind) {
          case 'done':
            return void doIt().then(resolve, reject);
          case 'crash before':
            return crash(process);
          case 'crash after':
            doUnheard();
            return crash(process);
          case 'refused':
            return reject(portCall.refused());
          case 'reply lost':
            doUnheard();
            return reject(portCall.unknown());
          case 'request lost':
            return reject(portCall.unknown());
          case 'lands late':
            if (portCall.mayLandLate === true) add(fate.delayMs, doUnheard, undefined);
            return reject(portCall.unknown());
          case 'stalls before':
            return add(fate.delayMs, () => {
              tell(`${process.name} ${label}: continues`);
              void doIt().then(resolve, reject);
            });
          case 'stalls after': {
            const done = doIt();
            done.catch(() => undefined);
            return add(fate.delayMs, () => {
              tell(`${process.name} ${label}: continues with the reply`);
              void done.then(resolve, reject);
            });
          }
        }
      });
    });

  const waitAs = (process: Process | undefined, ms: number, cancelled?: Promise<unknown>): Promise<void> =>
    new Promise((resolve) => {
      const step: Step = { label: 'wait', process, wakeAt: now + ms, mayRun: always, take: () => resolve() };
      steps.push(step);
      void cancelled?.then(() => {
        steps = steps.filter((other) => other !== step);
        resolve();
      });
    });

  /** Chooses the next of the executable steps. If there are none, the time advances to the next one. */
  const nextStep = (): Step | undefined => {
    for (;;) {
      const ready = steps.filter((step) => step.wakeAt <= now && step.mayRun());
      if (ready.length > 0) return ready[tape.choose(ready.length)];
      const later = steps.filter((step) => step.wakeAt > now);
      if (later.length === 0) return undefined;
      now = Math.min(...later.map(({ wakeAt }) => wakeAt));
    }
  };

  return {
    get now() {
      return now;
    },
    get steps() {
      return taken;
    },
    tape,
    story,
    start: (name) => {
      const process: Process = {
        name,
        get isAlive() {
          return !dead.has(process);
        },
        onCrash: (then) => {
          crashHandlers.set(process, [...(crashHandlers.get(process) ?? []), then]);
        },
      };
      return process;
    },
    crash,
    call,
    wait: (ms, cancelled) => waitAs(undefined, ms, cancelled),
    pause: (process, ms) => (dead.has(process) ? new Promise(() => undefined) : waitAs(process, ms)),
    run: async () => {
      while (taken < STEPS_MAX) {
        await settle();
        const step = nextStep();
        if (step === undefined) return steps.length === 0;
        steps.splice(steps.indexOf(step), 1);
        now += 1;
        taken += 1;
        step.take();
      }
      return false;
    },
  };
};
