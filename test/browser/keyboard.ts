import type { Page } from 'playwright-core';

/** What a person does who has no mouse. */

const PRESSES_MAX = 80;

const goTo = async (page: Page, key: 'Tab' | 'ArrowDown', name: string): Promise<void> => {
  const passed: string[] = [];
  for (let presses = 0; presses < PRESSES_MAX; presses += 1) {
    await page.keyboard.press(key);
    const label = await page.evaluate<string>(
      `(() => { const at = document.activeElement; return [at.getAttribute('aria-label'), at.labels?.[0]?.textContent, at.textContent].find((text) => text) ?? ''; })()`,
    );
    if (label.trim().startsWith(name)) return;
    passed.push(label.trim().slice(0, 30));
  }
  throw new Error(`no focus reaches: ${name}. It was at: ${passed.join(', ')}`);
};

/** Presses Tab until the focus is at what begins with this name. */
export const tabTo = (page: Page, name: string): Promise<void> => goTo(page, 'Tab', name);

/** In an open menu. */
export const chooseInMenu = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('menu').waitFor();
  await goTo(page, 'ArrowDown', name);
  await page.keyboard.press('Enter');
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
