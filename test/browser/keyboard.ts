import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';

/** What a person does who has no mouse. */

const PRESSES_MAX = 80;
const FOCUS_MS_MAX = 3_000;

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

/** A window that opens takes the focus a moment after it is visible: what is typed meanwhile would go astray. */
const FOCUS_IS_TAKEN = `(() => {
  const open = [...document.querySelectorAll('[aria-modal=true]')].filter((one) => one.checkVisibility());
  return open.length === 0 || open.some((one) => one.contains(document.activeElement));
})()`;

/** Presses Tab until the focus is at what begins with this name. */
export const tabTo = async (page: Page, name: string): Promise<void> => {
  // A window that sends something may have lost it again.
  await until(() => page.evaluate<boolean>(FOCUS_IS_TAKEN), FOCUS_MS_MAX).catch(() => undefined);
  await goTo(page, 'Tab', name);
};

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

const TYPED_MAX = 3;

/**
 * Replaces what a field holds. Again, if a window that was still opening has taken the focus meanwhile. The text is
 * inserted, not typed: if a button had the focus by then, a typed space would press it.
 */
export const type = async (page: Page, name: string, text: string): Promise<void> => {
  for (let typed = 0; typed < TYPED_MAX; typed += 1) {
    await tabTo(page, name);
    await page.evaluate(`globalThis.typedInto = document.activeElement`);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(text);
    const isTyped = `document.activeElement === globalThis.typedInto && document.activeElement.value === ${JSON.stringify(text)}`;
    if (await page.evaluate<boolean>(isTyped)) return;
  }
  throw new Error(`the focus left "${name}" while it was typed`);
};
