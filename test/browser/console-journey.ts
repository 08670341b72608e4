import type { BrowserContextOptions, Page } from 'playwright-core';
import type { SignedUp } from '../support/person.ts';
import type { RunningService } from '../support/running-service.ts';

/** What a journey through screens of the console needs. The service and the browser are started once for all. */
export interface ConsoleJourney {
  readonly service: () => RunningService;
  /** A tab of a person without a session. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** Violations of the policy, errors of scripts, and requests to other hosts, which fail a test that leaves them. */
  takeProblems(): readonly string[];
  /** A tab of a person who has just signed up, or of `user`. */
  signedIn(user?: SignedUp): Promise<{ readonly page: Page; readonly user: SignedUp }>;
  /** By a link if the page shows the console already. `page.goto` always loads it. @param path e.g. `/console/campaigns` */
  goTo(page: Page, path: string): Promise<void>;
}

/** A name that must stay text. */
export const MARKUP = `<img src=/x onerror="document.title='ran'">`;

export const PASSWORD = 'correct horse battery staple';

let people = 0;
export const newAddress = (): string => `jane-${(people += 1)}@acme.example`;

/** Fills the fields with these names, and sends the form. */
export const fillIn = async (page: Page, values: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, value] of Object.entries(values))
    await page.locator(`[name=${name}]:visible`).fill(value);
  await page.keyboard.press('Enter');
};

/** The page after a sign-in. */
export const arrive = (page: Page): Promise<void> =>
  page.getByRole('heading', { name: /^Welcome, / }).waitFor();

export const signOut = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: /^You: / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/console/sign-in');
};
