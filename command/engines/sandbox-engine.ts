import type { AskEngine } from './verify-key.ts';

const NAMES = ['Sandbox North', 'Sandbox South', 'Sandbox West'];

/** `sbx_accounts-120_anything` has 120 accounts, which is more than a page. */
const KEY = /^sbx_(?:accounts-(\d{1,3})_)?/;

/** Accepts every key that starts with `sbx_`, without a network call. */
export const askSandboxEngine: AskEngine = async (apiKey) => {
  const [start, count] = KEY.exec(apiKey) ?? [];
  if (start === undefined) return { outcome: 'refused' };
  const length = count === undefined ? NAMES.length : Number(count);
  const accounts = Array.from({ length }, (_, n) => ({
    id: `sandbox-${n + 1}`,
    name: NAMES[n] ?? `Sandbox ${n + 1}`,
  }));
  return { outcome: 'accepted', accounts };
};
