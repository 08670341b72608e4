import type { Exchanges } from './exchanges.ts';

const BUYER = '/api/v2/buyer';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

/** The path of each GET of a scenario, as it was called. */
export const readPaths = async (
  baseUrl: string,
  recorded: Exchanges['recorded'],
): Promise<readonly string[]> => {
  const { paths } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document;
  return Object.entries(paths).flatMap(([path, item]) => {
    const example = recorded.get(String(item['get']?.operationId));
    if (example === undefined || !path.startsWith(BUYER)) return [];
    const values: Readonly<Record<string, unknown>> = example.path ?? {};
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(values[name])),
    );
    return [filled.slice(BUYER.length)];
  });
};
