import { mkdir } from 'node:fs/promises';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';

/** What every screen of the console must be: accessible, light and dark, and at most as wide as its window. */

/** The policy of the page forbids what `waitForFunction` does. */
export const untilTrue = (page: Page, expression: string): Promise<number> =>
  until(() => page.evaluate<boolean>(expression));

/** Until the screen shows its data. */
export const untilShown = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await untilTrue(page, `document.querySelector('.mantine-Skeleton-root, .mantine-Loader-root') === null`);
};

/** What axe finds to be serious or critical. @param runOnly rules, or tags of rules */
const seriousOf = async (page: Page, runOnly: readonly string[]): Promise<readonly string[]> => {
  if (await page.evaluate<boolean>(`globalThis.axe === undefined`)) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run({
      runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'], preload: false, iframes: false, selectors: false,
    })`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`);
};

/** The navigation slides away after the window has become narrow. */
const fits = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(`new Promise((resolve) => {
    let frames = 0;
    const look = () => {
      const isNarrow = document.documentElement.scrollWidth <= innerWidth;
      if (isNarrow || (frames += 1) > 120) resolve(isNarrow);
      else requestAnimationFrame(look);
    };
    look();
  })`);

/** All screens at two sizes, to be looked at. */
const folder = process.env['CONSOLE_ALL_PICTURES'];

const takePicture = async (page: Page, name: string): Promise<void> => {
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name.replaceAll(/[^\w-]+/g, '-')}.png` });
};

/** A picture of the documents, if they are wanted: `npm run console:pictures`. */
export const takeDocumentPicture = async (page: Page, name: string): Promise<void> => {
  const into = process.env['CONSOLE_PICTURES'];
  if (into !== undefined) await page.screenshot({ path: `${into}/console-${name}.png` });
};

const showIn = async (page: Page, colorScheme: 'light' | 'dark'): Promise<void> => {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  // A colour that is changing has not the contrast that it will have.
  await page.evaluate(`new Promise((resolve) => requestAnimationFrame(resolve)).then(() =>
    Promise.allSettled(document.getAnimations().flatMap((animation) =>
      animation.effect.getComputedTiming().endTime === Infinity ? [] : [animation.finished]))).then(() => undefined)`);
};

const WIDE = { width: 1_280, height: 720 };
const NARROW = { width: 390, height: 844 };

/** Everything in a wide window and light. Dark and narrow together: what depends on colours and on room. */
const LIGHT_AND_WIDE = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];
const DARK_AND_NARROW = ['color-contrast', 'scrollable-region-focusable', 'target-size'];

/** Looks at the screen that the page shows. @returns what is wrong with it */
export const problemsOf = async (page: Page, name: string): Promise<readonly string[]> => {
  await showIn(page, 'light');
  await takePicture(page, `${name}-light`);
  const light = await seriousOf(page, LIGHT_AND_WIDE);
  await page.setViewportSize(NARROW);
  await showIn(page, 'dark');
  // Before axe, because it waits until the navigation has gone.
  const wide = (await fits(page)) ? [] : ['too wide'];
  const dark = await seriousOf(page, DARK_AND_NARROW);
  await takePicture(page, `${name}-narrow-dark`);
  await page.setViewportSize(WIDE);
  await showIn(page, 'light');
  return [...light, ...wide, ...dark].map((problem) => `${name}: ${problem}`);
};

/** Goes on to another screen as a link does: the page is not loaded again. @param path with `/console` */
export const goOn = async (page: Page, path: string): Promise<void> => {
  // A new screen has a new heading; another tab of the same one does not.
  const isNew = await page.evaluate<boolean>(`(() => {
    const isNew = location.pathname !== new URL(${JSON.stringify(path)}, location).pathname;
    if (isNew) document.querySelector('h1')?.setAttribute('data-before', '');
    history.pushState(null, '', ${JSON.stringify(path)});
    return isNew;
  })()`);
  if (isNew) await page.locator('h1:not([data-before])').waitFor();
  await page.evaluate(`new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
  })`);
};

/**
 * Looks at screens, one after the other.
 * @param paths below `/console`
 * @param look is called with each of them in a wide window
 */
export const problemsOfAll = async (
  page: Page,
  paths: readonly string[],
  look?: (path: string) => Promise<void>,
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const path of paths) {
    await goOn(page, `/console${path}`);
    await untilShown(page);
    await look?.(path);
    found.push(...(await problemsOf(page, path)));
  }
  return found;
};
