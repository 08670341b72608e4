import { RESULT_BYTES_MAX } from './truncate.ts';
import type { ToolResult } from './tool.ts';

interface PagedResult extends ToolResult {
  readonly page: { readonly truncated: boolean };
}

/** For routes that page themselves: a page that is too large is read again with fewer rows. */
export const fitPage = async <Result extends PagedResult>(
  limit: number,
  read: (limit: number) => Promise<Result>,
): Promise<Result> => {
  for (let rows = limit; ; rows = Math.ceil(rows / 2)) {
    const result = await read(rows);
    const isCut = rows < limit;
    if (rows > 1 && Buffer.byteLength(JSON.stringify(result)) > RESULT_BYTES_MAX) continue;
    return isCut ? { ...result, page: { ...result.page, truncated: true } } : result;
  }
};
