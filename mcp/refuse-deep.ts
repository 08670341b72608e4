import { ApiError } from '../shared/http/errors.ts';

/** Far more than any argument has. A route allows less, and says where. */
const DEPTH_MAX = 100;

/** Without recursion, which deep arguments would exhaust: here, and where they are written. @throws ApiError BAD_REQUEST */
export const refuseDeep = (given: unknown): void => {
  let level: readonly unknown[] = [given];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) {
      throw new ApiError({
        code: 'BAD_REQUEST',
        message: `The arguments have values nested deeper than ${DEPTH_MAX} levels.`,
      });
    }
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
};
