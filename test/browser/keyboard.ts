import type { Page } from 'playwright-core';

/** What a person does who has no mouse. */

const PRESSES_MAX = 80;

/** Presses Tab until the focus is at what begins with this name. */
export const tabTo = async (page: Page, name: string): Promise<void> => {
  const passed: string[] = [];
  for (let presses = 0; presses < PRESSES_MAX; presses += 1) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate<string>(
      `(() => { const at = document.activeElement; return [at.getAttribute('aria-label'), at.labels?.[0]?.textContent, at.textContent].find((text) => text) ?? ''; })()`,
    );
    if (label.trim().startsWith(name)) return;
    passed.push(label.trim().slice(0, 30));
  }
  throw new Error(`no focus reaches: ${name}. It was at: ${passed.join(', ')}`);
};

/** Activates the link or button that begins with this name. */
export const press = async (page: Page, name: string): Promise<void> => {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
};

export const type = async (page: Page, name: string, text: string): Promise<void> => {
  await tabTo(page, name);
  await page.keyboard.type(text);
};
