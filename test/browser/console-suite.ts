import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { signUp } from '../support/person.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { describeInChromium } from './chromium.ts';
import type { ConsoleJourney } from './console-journey.ts';
import { goOn } from './console-checks.ts';
import { startConsoleTabs, type ConsoleTabs } from './console-tabs.ts';

/** Whether the page shows a screen of the console for a signed-in person. */
const isSignedIn = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(`document.querySelector('[aria-label=Pages]') !== null`);

/** Journeys through the console, against one real service and in one browser. Suites run at the same time. */
export const describeConsole = (
  name: string,
  tests: (journey: ConsoleJourney) => void,
  settings: Readonly<Record<string, string>> = {},
): void =>
  describeInChromium(name, (chromiumPath) => {
    let service: RunningService;
    let tabs: ConsoleTabs;
    beforeAll(async () => {
      [service, tabs] = await Promise.all([
        startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true', ...settings }),
        startConsoleTabs(chromiumPath),
      ]);
    }, 60_000);
    afterEach(async () => {
      await tabs.closeTabs();
      expect(tabs.takeProblems()).toEqual([]);
    });
    afterAll(async () => {
      await tabs.close();
      await service.stop();
    }, 60_000);
    tests({
      service: () => service,
      open: (options) => tabs.open(options),
      takeProblems: () => tabs.takeProblems(),
      signedIn: async (user) => {
        const person = user ?? (await signUp(service));
        return { page: await tabs.openSession(person.person.cookie ?? ''), user: person };
      },
      goTo: async (page, path) => {
        // A load costs several times as much as a link.
        if (await isSignedIn(page)) await goOn(page, path);
        else await page.goto(service.baseUrl + path);
      },
    });
  });
