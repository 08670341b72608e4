import { apiErrorOf } from '../http/api-error-of.ts';
import { ApiError } from '../http/errors.ts';
import { isConfirmationUid, type Confirmation, type Confirmations } from './confirmations.ts';

export interface ConfirmedCommand {
  readonly commandId: string;
  readonly isRepeatable: boolean;
}

/**
 * A repeat with the same key is the same command; another call with a used confirmation is refused. A call
 * without a key and without effect cannot have another run, so its confirmation becomes usable again.
 * @param how completes the message for a confirmation that cannot be used: how to request another
 * @throws ApiError CONFIRMATION_EXPIRED, CONFLICT (the confirmation belongs to another call), and what `run` throws
 */
export const runConfirmed = async <T>(
  confirmations: Confirmations,
  confirmation: Confirmation,
  { commandId, isRepeatable }: ConfirmedCommand,
  how: string,
  run: () => Promise<T>,
): Promise<T> => {
  const used = isConfirmationUid(confirmation.uid)
    ? await confirmations.use(confirmation, commandId)
    : 'expired';
  if (used === 'expired') throw confirmationExpired(how);
  if (used === 'other') throw confirmationOfOther();
  try {
    return await run();
  } catch (error) {
    if (!isRepeatable && apiErrorOf(error).hadNoEffect) {
      // Best effort: otherwise the client requests another confirmation.
      await confirmations.giveBack(confirmation, commandId).catch(() => undefined);
    }
    throw error;
  }
};

const confirmationExpired = (how: string): ApiError =>
  new ApiError({
    code: 'CONFIRMATION_EXPIRED',
    message: `The confirmation does not exist, was used, or is older than 15 minutes. Request another ${how}.`,
    field: 'confirmationUid',
  });

const confirmationOfOther = (): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message:
      'The confirmation belongs to another call. Send the previewed call, or request another confirmation.',
    field: 'confirmationUid',
  });
