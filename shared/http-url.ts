/**
 * Whether text is an address of the web as people write one. The URL parser alone takes more: it makes
 * `https://example.com` of `https:example.com`, which other readers of the same text take for a relative address.
 */
export const isHttpUrl = (text: string): boolean => /^https?:\/\/[^/\\]/i.test(text) && URL.canParse(text);
