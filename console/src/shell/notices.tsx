import { Alert, Stack } from '@mantine/core';
import { useLiveState } from '../api/live.ts';
import { usePause } from '../api/pauses.ts';

/** What a person must know on every page: that reads pause, or that what is shown may be old. */
export const Notices = () => {
  const live = useLiveState();
  const pausedUntil = usePause();
  return (
    <Stack gap="xs" role="status">
      {pausedUntil !== undefined && (
        <Alert color="yellow" mb="md">
          Many requests came from your network. The page goes on by itself at{' '}
          {new Date(pausedUntil).toLocaleTimeString()}.
        </Alert>
      )}
      {live === 'lost' && (
        <Alert color="yellow" mb="md">
          The connection for live changes is lost. It is tried again; until then, what you see may be old.
        </Alert>
      )}
      {live === 'ended' && (
        <Alert color="red" mb="md">
          Your session has ended. <a href="/console/sign-in">Sign in again</a>
        </Alert>
      )}
    </Stack>
  );
};
